import { writeJson } from './json-source.ts'
import type { CallerEvent, ErrorFormat } from './protocol.ts'

/** Writes a server-sent event. */
export function writeEvent({ name, data }: CallerEvent): string {
  return `event: ${name}\n${writeData(data)}`
}

/** Writes a server-sent event without a name. */
export function writeData(data: unknown): string {
  return `data: ${writeJson(data)}\n\n`
}

/** Writes an error's body as an event of its protocol. */
export function writeErrorEvent({ toEvent }: ErrorFormat, body: unknown): string {
  return toEvent === undefined ? writeData(body) : writeEvent(toEvent(body))
}
