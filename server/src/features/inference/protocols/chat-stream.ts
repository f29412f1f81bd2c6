import { readChatChunk } from './chat-answers.ts'
import type { ChatPart } from './chat-answers.ts'
import type { CallerEvent, EventTranslation } from './protocol.ts'

/** Writes the parts of a chat completion as events of another protocol. */
export interface ChatStreamWriter {
  /** Events for the caller that were not returned yet */
  events: CallerEvent[]
  start(): void
  add(part: ChatPart): void
  /** Ends the stream by an error of the engine. */
  fail(message: string): void
  finish(): void
}

/** Translates the chunks of a chat completion. Nothing follows an error. */
export class ChatStream implements EventTranslation {
  readonly writer: ChatStreamWriter
  hasStarted = false
  hasFailed = false

  constructor(writer: ChatStreamWriter) {
    this.writer = writer
  }

  take(event: unknown): readonly CallerEvent[] {
    const part = readChatChunk(event)
    if (this.hasFailed) return []
    this.start()
    if (part.error === null) this.writer.add(part)
    else {
      this.hasFailed = true
      this.writer.fail(part.error)
    }
    return this.flush()
  }

  finish(): readonly CallerEvent[] {
    if (this.hasFailed) return []
    this.start()
    this.writer.finish()
    return this.flush()
  }

  start(): void {
    if (this.hasStarted) return
    this.hasStarted = true
    this.writer.start()
  }

  flush(): readonly CallerEvent[] {
    const { events } = this.writer
    this.writer.events = []
    return events
  }
}
