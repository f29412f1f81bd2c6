import type { ServerResponse } from 'node:http'
import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { openEventStream } from './event-stream.ts'

/** A response whose reader pauses until `read` is called. */
function slowResponse() {
  const taken: string[] = []
  const pending: (() => void)[] = []
  const writable = new Writable({
    highWaterMark: 20,
    write(data, _encoding, done) {
      taken.push(String(data))
      pending.push(done)
    },
  })
  const response = Object.assign(writable, { writeHead: () => {} }) as unknown as ServerResponse
  return { response, taken, read: () => pending.shift()?.() }
}

test('an event stream waits for a slow reader but not for a disconnected one', async () => {
  const { response, read } = slowResponse()
  const stream = openEventStream(response)
  expect(stream.drained()).toBeUndefined()
  stream.send({ some: 'data that fills the buffer' })
  let waited = false
  const drained = Promise.resolve(stream.drained()).then(() => (waited = true))
  await Promise.resolve()
  expect(waited).toBe(false)
  read()
  await drained
  expect(stream.drained()).toBeUndefined()

  stream.send({ some: 'data that fills the buffer' })
  const left = stream.drained()
  response.destroy()
  await left
  stream.send({})
  stream.finish()
})
