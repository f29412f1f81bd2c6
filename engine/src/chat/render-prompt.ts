import type { LlamaModel, Token } from 'node-llama-cpp'
import { invalid } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { TemplateComplaint } from '../template/chat-template.ts'
import { mapTexts } from '../template/map-texts.ts'
import { adaptRoles } from './history.ts'
import type { TemplateMessage } from './history.ts'
import type { ModelTemplate } from '../template/model-template.ts'

export interface Conversation {
  messages: readonly TemplateMessage[]
  /** As the caller sent them; undefined without tools */
  tools: unknown
  /** Further variables, such as `enable_thinking` */
  variables: Readonly<Record<string, unknown>>
}

export interface RenderedPrompt {
  text: string
  tokens: Token[]
}

/**
 * Renders a prompt; it continues a final message of the assistant. Callers' texts never become control tokens
 * if the template shows marked texts like plain ones. Throws a RequestError with its complaint.
 */
export function renderPrompt(
  template: ModelTemplate,
  model: LlamaModel,
  given: Conversation,
  log: Log,
): RenderedPrompt {
  const { text, conversation } = renderAdapted(template, given)
  const marked = renderMarked(template, conversation, text, log)
  const pieces = marked === null ? [text] : marked.text.split(marked.sign)
  const tokens = pieces.flatMap((piece, index) =>
    index === 0 ? model.tokenize(piece, true) : model.tokenize(piece, true, 'trimLeadingSpace'),
  )
  return { text, tokens }
}

/** Renders messages, in an order of roles that the template takes, like llama.cpp's and vendors' servers. */
function renderAdapted(
  template: ModelTemplate,
  given: Conversation,
): { text: string; conversation: Conversation } {
  let complaint: unknown
  const attempts = [
    () => given.messages,
    () => adaptRoles(given.messages, true),
    () => adaptRoles(given.messages, false),
  ]
  for (const attempt of attempts) {
    const conversation = { ...given, messages: attempt() }
    try {
      return { text: renderText(template, conversation), conversation }
    } catch (error) {
      complaint ??= error
      if (!(error instanceof TemplateComplaint)) break
    }
  }
  const reason = complaint instanceof Error ? complaint.message.slice(0, 300) : 'unknown'
  throw invalid('messages', `The model's chat template cannot render these messages: ${reason}`)
}

function renderText(template: ModelTemplate, { messages, tools, variables }: Conversation): string {
  const last = messages.at(-1)
  const continues = last?.role === 'assistant' && last.tool_calls === undefined
  const text = template.render({
    ...variables,
    messages,
    ...(tools === undefined ? {} : { tools }),
    add_generation_prompt: !continues,
  })
  if (!continues) return text
  const content = last.content.trim()
  const at = text.lastIndexOf(content)
  if (at < 0) throw new Error('It does not show the last message, which is to be continued.')
  return text.slice(0, at) + last.content.trimStart()
}

/** The prompt with signs in the texts that would become tokens of control; null without such texts. */
function renderMarked(
  template: ModelTemplate,
  { messages, tools, variables }: Conversation,
  plain: string,
  log: Log,
): { text: string; sign: string } | null {
  const { guard } = template
  let isFound = false
  let all = ''
  mapTexts([messages, tools], (text) => {
    isFound ||= guard.finds(text)
    all += text
    return text
  })
  if (!isFound) return null
  const sign = guard.chooseSign(all)
  // Templates remove thoughts from answers, so a second attempt keeps the answers unchanged.
  for (const marksAnswers of sign === null ? [] : [true, false]) {
    const change = (text: string): string => guard.mark(text, sign!)
    const marked = messages.map((message) =>
      marksAnswers || message.role !== 'assistant' ? (mapTexts(message, change) as TemplateMessage) : message,
    )
    const conversation = { messages: marked, tools: mapTexts(tools, change), variables }
    try {
      const text = renderText(template, conversation)
      if (text.replaceAll(sign!, '') === plain) return { text, sign: sign! }
    } catch {
      // The template judges the texts: the next attempt marks fewer of them.
    }
  }
  log(
    'warning: the chat template changes marked texts, so tokens of control in the messages stay what they are',
  )
  return null
}
