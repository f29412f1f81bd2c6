import { expect } from 'vitest'
import type { Client } from './client.ts'
import type { RecordingEngine } from './recording-engine.ts'

/** Lets an engine answer each chat, a streamed one with a first chunk and no end. */
export function answerChats(engine: RecordingEngine): void {
  engine.answer((response, { body }) => {
    if (!body.includes('"stream":true')) return response.end('{"choices":[]}')
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: {"choices":[{"delta":{"content":"forever"}}]}\n\n')
  })
}

/**
 * Opens a stream of an engine of `answerChats` and reads its first chunk. `ended` resolves when the stream
 * ends in any way.
 */
export async function openChat(url: string, client: Client, model: string) {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { cookie: client.cookie(), 'content-type': 'application/json' },
    body: JSON.stringify({ model, stream: true, messages: [] }),
  })
  expect(response.status).toBe(200)
  const reader = response.body!.getReader()
  expect(new TextDecoder().decode((await reader.read()).value)).toContain('forever')
  const ended = (async () => {
    while (!(await reader.read()).done);
  })().catch(() => undefined)
  return { ended, close: () => reader.cancel() }
}
