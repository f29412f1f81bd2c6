import { readChatChunk } from './chat-answers.ts'
import type { ChatPart } from './chat-answers.ts'
import type { TokenUsage } from '../../metering/token-usage.ts'
import type { CallerEvent, EventTranslation } from './protocol.ts'

/** Writes the parts of a chat completion as events of another protocol. */
export interface ChatStreamWriter {
  /** Returns the events for the caller since the last call. */
  takeEvents(): readonly CallerEvent[]
  /** `usage` is what was counted so far. */
  start(usage: TokenUsage | null): void
  add(part: ChatPart): void
  /** Ends the stream by an error of the engine. */
  fail(message: string): void
  /** `usage` is that of the whole answer. */
  finish(usage: TokenUsage | null): void
}

/** Translates the chunks of a chat completion. Nothing follows an error. */
export class ChatStream implements EventTranslation {
  readonly #writer: ChatStreamWriter
  #hasStarted = false
  #hasFailed = false

  constructor(writer: ChatStreamWriter) {
    this.#writer = writer
  }

  take(event: unknown, usage: TokenUsage | null): readonly CallerEvent[] {
    const part = readChatChunk(event)
    if (this.#hasFailed) return []
    this.#start(usage)
    if (part.error === null) this.#writer.add(part)
    else {
      this.#hasFailed = true
      this.#writer.fail(part.error)
    }
    return this.#writer.takeEvents()
  }

  finish(usage: TokenUsage | null): readonly CallerEvent[] {
    if (this.#hasFailed) return []
    this.#start(usage)
    this.#writer.finish(usage)
    return this.#writer.takeEvents()
  }

  #start(usage: TokenUsage | null): void {
    if (this.#hasStarted) return
    this.#hasStarted = true
    this.#writer.start(usage)
  }
}
