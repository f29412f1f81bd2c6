import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import { expect, test } from 'vitest'
import { parseRawBodies } from './raw-body.ts'

/** Begins to parse a body of 3,000 bytes. */
function parse() {
  const payload = new PassThrough()
  const request = { headers: { 'content-length': '3000' } } as FastifyRequest
  const parsed = new Promise<Buffer | undefined>((resolve, reject) =>
    parseRawBodies(4000)(request, payload as unknown as IncomingMessage, (error, body) =>
      error ? reject(error) : resolve(body),
    ),
  )
  return { payload, parsed }
}

test('the chunks of a body of known length are copied and freed as they arrive', async () => {
  const { payload, parsed } = parse()
  const chunks = ['a', 'b', 'c'].map((letter) => Buffer.allocUnsafeSlow(1000).fill(letter))
  for (const chunk of chunks) {
    payload.write(chunk)
    await turn()
  }
  expect((await parsed)?.toString()).toBe('a'.repeat(1000) + 'b'.repeat(1000) + 'c'.repeat(1000))
  expect(chunks.map(({ buffer }) => buffer.byteLength)).toEqual([0, 0, 0])
})

test('a body that arrives in one piece is not copied', async () => {
  const { payload, parsed } = parse()
  const body = Buffer.alloc(3000, 'a')
  payload.write(body)
  expect(await parsed).toBe(body)
})

test('a caller who left before the body was read is an error', async () => {
  const { payload, parsed } = parse()
  payload.destroy()
  await expect(parsed).rejects.toThrow('the caller disconnected')
})
