import type { Log } from '../base/log.ts'
import { deriveCallFormat, deriveThoughtFormat } from '../calls/derive-format.ts'
import type { RenderProbe } from '../calls/derive-format.ts'
import type { CallFormat, ThoughtFormat } from '../calls/call-format.ts'
import { findKnownFormat } from '../calls/known-formats.ts'
import { LoadError } from '../base/load-error.ts'
import { ChatTemplate } from './chat-template.ts'
import { listControlTexts, nameSpecialTokens, TextGuard } from './special-tokens.ts'
import type { TokenizerFacts } from './special-tokens.ts'
import { readJson } from './to-value.ts'

/** The part of a GGUF file's metadata that says how a model converses. */
export interface ChatMetadata {
  readonly ggml: TokenizerFacts
  readonly chat_template?: unknown
  readonly 'chat_template.tool_use'?: unknown
}

/** How a model writes its calls: a derived format, or the messages of gpt-oss. */
export type CallStyle = CallFormat | 'harmony'

/** Whether a template takes the arguments of a call as an object or as a text. */
type ArgumentsForm = 'object' | 'text'

const probeTools = ['first_probe', 'second_probe'].map((name) => ({
  type: 'function',
  function: {
    name,
    description: 'A probe.',
    parameters: {
      type: 'object',
      properties: { arg_a: { type: 'string' }, arg_b: { type: 'integer' }, arg_c: { type: 'string' } },
      required: ['arg_a'],
    },
  },
}))

/** A model's own chat template and what was found out about it. */
export class ModelTemplate {
  readonly source: string
  readonly guard: TextGuard
  /** Null if the template can't show tools, or in a form that isn't understood */
  readonly calls: CallStyle | null
  readonly thoughts: ThoughtFormat | null
  readonly #plain: ChatTemplate
  readonly #forTools: ChatTemplate
  readonly #named: Readonly<Record<string, string>>
  readonly #argumentsForm: ArgumentsForm

  /** Throws a LoadError if the template can't be rendered. */
  constructor({ ggml, ...templates }: ChatMetadata, log: Log) {
    const plain = templates.chat_template
    const forTools = templates['chat_template.tool_use']
    this.source = [plain, forTools].filter((text) => typeof text === 'string').join('\n')
    this.#named = nameSpecialTokens(ggml)
    this.guard = new TextGuard(listControlTexts(ggml, this.source))
    this.#plain = read(plain as string)
    this.#forTools = typeof forTools === 'string' ? read(forTools) : this.#plain
    checkRendering(() =>
      this.render({ messages: [{ role: 'user', content: 'Hello' }], add_generation_prompt: true }),
    )
    const probe = (form: ArgumentsForm): RenderProbe => this.#createProbe(form)
    const derived = (['object', 'text'] as const).map((form) => ({
      form,
      format: deriveCallFormat(probe(form)),
    }))
    const found = derived.find(({ format }) => format !== null)
    this.#argumentsForm = found?.form ?? findArgumentsForm(probe)
    const takesTools = /\b(?:xml_)?tools\b/.test(this.source)
    const isHarmony = this.source.includes('<|channel|>commentary')
    this.calls = !takesTools ? null : isHarmony ? 'harmony' : (found?.format ?? findKnownFormat(this.source))
    this.thoughts = isHarmony ? null : deriveThoughtFormat(probe(this.#argumentsForm), this.source)
    log(
      `chat template of ${this.source.length} characters, tools ${this.calls === null ? 'not supported' : 'supported'}` +
        `, thoughts ${this.thoughts === null && !isHarmony ? 'none' : 'separated'}`,
    )
  }

  /** True if the template asks for this variable. */
  mentions(name: string): boolean {
    return new RegExp(`\\b${name}\\b`).test(this.source)
  }

  /** The arguments of a call in the form that the template takes; `text` is JSON. */
  toArguments(text: string): unknown {
    if (this.#argumentsForm === 'text') return text
    return readJson(text)
  }

  /** Renders a prompt. Throws an Error if the template can't. */
  render(variables: Readonly<Record<string, unknown>>): string {
    const { tools } = variables
    const template = tools === undefined ? this.#plain : this.#forTools
    // SmolLM3's name for tools that are called in JSON
    const named = tools === undefined || !this.mentions('xml_tools') ? {} : { xml_tools: tools }
    return template.render({ ...this.#named, ...named, ...variables })
  }

  #createProbe(form: ArgumentsForm): RenderProbe {
    return (answer) => {
      const messages: object[] = [{ role: 'user', content: 'A question.' }]
      if (answer !== null) {
        const calls = answer.calls?.map(({ id, name, arguments: given }) => ({
          id,
          type: 'function',
          function: { name, arguments: form === 'object' ? given : JSON.stringify(given) },
        }))
        messages.push({
          role: 'assistant',
          content: answer.content,
          ...(answer.thought === undefined ? {} : toThoughts(answer.thought)),
          ...(calls === undefined ? {} : { tool_calls: calls }),
        })
      }
      return this.render({ messages, tools: probeTools, add_generation_prompt: answer === null })
    }
  }
}

/** A thought under the names that templates use for it. */
export function toThoughts(thought: string): object {
  return { reasoning_content: thought, reasoning: thought, thinking: thought }
}

function read(source: string): ChatTemplate {
  return checkRendering(() => new ChatTemplate(source))
}

function checkRendering<Result>(run: () => Result): Result {
  try {
    return run()
  } catch (error) {
    const reason = error instanceof Error ? error.message.slice(0, 500) : String(error)
    throw new LoadError('launch_rejected', `The model's chat template can't be rendered: ${reason}`)
  }
}

/** For templates whose format isn't understood: an object, unless the template can't take one. */
function findArgumentsForm(probe: (form: ArgumentsForm) => RenderProbe): ArgumentsForm {
  const call = { id: 'probe0001', name: 'first_probe', arguments: { arg_a: 'Probe text' } }
  try {
    const text = probe('object')({ content: '', calls: [call] })
    return text.includes("{'arg_a'") ? 'text' : 'object'
  } catch {
    return 'text'
  }
}
