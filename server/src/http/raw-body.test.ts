import { EventEmitter } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { expect, test } from 'vitest'
import { parseRawBodies } from './raw-body.ts'

test('the chunks of a body of known length are copied and freed as they arrive', async () => {
  const payload = new EventEmitter() as IncomingMessage
  const request = { headers: { 'content-length': '3000' } } as FastifyRequest
  const parsed = new Promise<Buffer | undefined>((resolve, reject) =>
    parseRawBodies(4000)(request, payload, (error, body) => (error ? reject(error) : resolve(body))),
  )
  const chunks = ['a', 'b', 'c'].map((letter) => Buffer.allocUnsafeSlow(1000).fill(letter))
  for (const chunk of chunks) payload.emit('data', chunk)
  expect((await parsed)?.toString()).toBe('a'.repeat(1000) + 'b'.repeat(1000) + 'c'.repeat(1000))
  expect(chunks.map(({ buffer }) => buffer.byteLength)).toEqual([0, 0, 0])
})
