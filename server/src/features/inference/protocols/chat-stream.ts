import { readChatChunk } from './chat-answers.ts'
import type { ChatPart } from './chat-answers.ts'
import type { CallerEvent, EventTranslation } from './protocol.ts'

/** Writes the parts of a chat completion as events of another protocol. */
export interface ChatStreamWriter {
  /** Returns the events for the caller since the last call. */
  takeEvents(): readonly CallerEvent[]
  start(): void
  add(part: ChatPart): void
  /** Ends the stream by an error of the engine. */
  fail(message: string): void
  finish(): void
}

/** Translates the chunks of a chat completion. Nothing follows an error. */
export class ChatStream implements EventTranslation {
  readonly #writer: ChatStreamWriter
  #hasStarted = false
  #hasFailed = false

  constructor(writer: ChatStreamWriter) {
    this.#writer = writer
  }

  take(event: unknown): readonly CallerEvent[] {
    const part = readChatChunk(event)
    if (this.#hasFailed) return []
    this.#start()
    if (part.error === null) this.#writer.add(part)
    else {
      this.#hasFailed = true
      this.#writer.fail(part.error)
    }
    return this.#writer.takeEvents()
  }

  finish(): readonly CallerEvent[] {
    if (this.#hasFailed) return []
    this.#start()
    this.#writer.finish()
    return this.#writer.takeEvents()
  }

  #start(): void {
    if (this.#hasStarted) return
    this.#hasStarted = true
    this.#writer.start()
  }
}
