import type { ChatCompletionChunk } from '../../../../console/src/contract.ts'
import type { Client } from '../../api/client.ts'
import { readEvents } from '../../api/follow.ts'
import { CommandError } from '../../base/errors.ts'
import type { Output } from '../../base/output.ts'
import { cleanText } from '../../base/text.ts'
import { explainType } from '../model-type.ts'

export type Message = { role: string; content: string }

export interface ChatSettings {
  model: string
  system?: string
  temperature?: number
  maxTokens?: number
}

/** The body of a request for an answer. */
export function toRequest(
  { model, system, temperature, maxTokens }: ChatSettings,
  messages: readonly Message[],
) {
  return {
    model,
    messages: [...(system === undefined ? [] : [{ role: 'system', content: system }]), ...messages],
    ...(temperature !== undefined && { temperature }),
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
  }
}

/** Prints an answer while it arrives, and returns it. An abort ends the request and the engine's work. */
export async function answer(
  client: Client,
  settings: ChatSettings,
  messages: readonly Message[],
  output: Output,
  signal?: AbortSignal,
): Promise<string> {
  const body = { ...toRequest(settings, messages), stream: true }
  const response = await client
    .openStream('POST', '/v1/chat/completions', { body, signal })
    .catch((error: unknown) => explainType(client, settings.model, 'chat', error))
  const printer = new AnswerPrinter(output)
  let isTold = false
  const tell = () => {
    if (!isTold) output.note(`Waiting for ${settings.model} to wake up…`)
    isTold = true
  }
  try {
    for await (const { data } of readEvents(response, tell)) {
      if (data === '[DONE]') return printer.end()
      printer.add(parseChunk(data))
    }
  } catch (error) {
    const partial = printer.end()
    if (signal?.aborted) return partial
    throw error
  }
  printer.end()
  throw new CommandError('The answer broke off. Try again.')
}

function parseChunk(data: string): ChatCompletionChunk {
  const chunk = JSON.parse(data) as ChatCompletionChunk | { error: { message: string }; choices?: never }
  if (chunk.choices === undefined) throw new CommandError(`The answer broke off: ${chunk.error.message}`)
  return chunk
}

/** Writes an answer to stdout and, on a terminal, the thoughts before it to stderr. */
class AnswerPrinter {
  readonly #output: Output
  #text = ''
  #hasThoughts = false
  #finish: string | null = null

  constructor(output: Output) {
    this.#output = output
  }

  add({ choices }: ChatCompletionChunk): void {
    const [choice] = choices
    if (choice === undefined) return
    const { content, reasoning_content: thought } = choice.delta as {
      content?: string | null
      reasoning_content?: string | null
    }
    if (thought) this.#think(thought)
    if (content) this.#write(content)
    this.#finish = choice.finish_reason ?? this.#finish
  }

  /** Ends the last line, and returns the answer. */
  end(): string {
    if (this.#text !== '' && !this.#text.endsWith('\n')) process.stdout.write('\n')
    if (this.#finish === 'length') this.#output.note('The answer reached the limit of tokens.')
    return this.#text
  }

  #think(thought: string): void {
    if (!process.stderr.isTTY) return
    this.#hasThoughts = true
    process.stderr.write(this.#output.noteColors.dim(cleanText(thought)))
  }

  #write(content: string): void {
    if (this.#hasThoughts && this.#text === '') process.stderr.write('\n\n')
    this.#text += content
    process.stdout.write(process.stdout.isTTY ? cleanText(content) : content)
  }
}
