import type { CallerPaths, JsonObject } from './protocol.ts'

/** A call of a function, and where it is in the caller's request. */
export interface PlacedCall {
  call: JsonObject
  path: string
}

/** What the model wrote in a turn. */
export interface Answer {
  thought?: string
  text?: string
  calls?: readonly PlacedCall[]
}

type Turn = { path: string } & (
  | { role: 'assistant'; thought: string; text: string; calls: PlacedCall[] }
  | { role: 'system' | 'tool' | 'user'; message: JsonObject }
)

/** The messages of a chat, and the caller's paths of its messages and calls. */
export interface WrittenHistory {
  messages: readonly JsonObject[]
  paths: CallerPaths
}

/**
 * Collects a chat's messages. What the model wrote piece by piece becomes one message, because the results
 * of calls must follow it. Results have only text, so their pictures go to the next message of the user.
 */
export class ChatHistory {
  readonly #turns: Turn[] = []
  #pictures: JsonObject[] = []
  #picturesPath = ''

  get isEmpty(): boolean {
    return this.#turns.length === 0
  }

  addSystem(path: string, content: unknown): void {
    this.#sendPictures()
    this.#turns.push({ role: 'system', path, message: { role: 'system', content } })
  }

  /** `content` is a text or a list of parts. */
  addUser(path: string, content: string | readonly JsonObject[]): void {
    const own = typeof content === 'string' ? [{ type: 'text', text: content }] : content
    const last = this.#turns.at(-1)
    // Some chat templates refuse neighbors of one role.
    const before = last?.role === 'user' ? toParts(last.message['content']) : []
    const parts = [...before, ...this.#pictures, ...own].filter(({ text }) => text !== '')
    const isText = parts.every(({ type }) => type === 'text')
    const message = {
      role: 'user',
      content: isText ? parts.map(({ text }) => text).join('\n\n') : parts,
    }
    this.#pictures = []
    if (last?.role === 'user') last.message = message
    else this.#turns.push({ role: 'user', path, message })
  }

  addResult(path: string, id: string, parts: readonly JsonObject[]): void {
    const texts = parts.flatMap(({ type, text }) => (type === 'text' ? [text] : []))
    const message = { role: 'tool', tool_call_id: id, content: texts.join('\n\n') }
    this.#turns.push({ role: 'tool', path, message })
    this.#pictures.push(...parts.filter(({ type }) => type !== 'text'))
    this.#picturesPath = path
  }

  addAnswer(path: string, { thought = '', text = '', calls = [] }: Answer): void {
    this.#sendPictures()
    const last = this.#turns.at(-1)
    const continues =
      last?.role === 'assistant' &&
      (thought === '' || (last.text === '' && last.calls.length === 0)) &&
      (text === '' || last.text === '')
    if (!continues) {
      this.#turns.push({ role: 'assistant', path, thought, text, calls: [...calls] })
      return
    }
    last.thought = [last.thought, thought].filter((part) => part !== '').join('\n\n')
    last.text += text
    last.calls.push(...calls)
  }

  #sendPictures(): void {
    if (this.#pictures.length > 0) this.addUser(this.#picturesPath, [])
  }

  /** Returns the messages, without empty ones of the model. */
  finish(): WrittenHistory {
    this.#sendPictures()
    const turns = this.#turns.filter(
      (turn) => turn.role !== 'assistant' || turn.text !== '' || turn.calls.length > 0,
    )
    const paths = new Map<string, string>()
    for (const [index, turn] of turns.entries()) {
      paths.set(`messages.${index}`, turn.path)
      if (turn.role !== 'assistant') continue
      for (const [at, { path }] of turn.calls.entries()) paths.set(`messages.${index}.tool_calls.${at}`, path)
    }
    const messages = turns.map((turn) => (turn.role === 'assistant' ? toAnswer(turn) : turn.message))
    return { messages, paths }
  }
}

function toParts(content: unknown): JsonObject[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : [...(content as JsonObject[])]
}

function toAnswer({ thought, text, calls }: Required<Answer>): JsonObject {
  return {
    role: 'assistant',
    content: text,
    // Templates leave out what they don't want. vLLM has the second name, the others the first one.
    ...(thought === '' ? {} : { reasoning_content: thought, reasoning: thought }),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map(({ call }) => call) }),
  }
}

/** A part with the sentence that replaces what the engine can't take. */
export function toNote(what: string): JsonObject {
  return { type: 'text', text: `[${what} that this model can't read]` }
}
