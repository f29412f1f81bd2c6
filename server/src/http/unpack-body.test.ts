import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { RateLimitedError } from '../base/errors.ts'
import { readCoding, unpackBody } from './unpack-body.ts'
import type { Coding } from './unpack-body.ts'

const text = JSON.stringify({ model: 'tiny', input: 'Hello! '.repeat(1000) })

const packers: [Coding, (text: string | Buffer) => Buffer][] = [
  ['gzip', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
  ['zstd', zstdCompressSync],
]

test.each(packers)('%s: a body is unpacked up to the limit', async (coding, pack) => {
  const packed = pack(text)
  expect((await unpackBody(packed, coding, text.length)).toString()).toBe(text)
  await expect(unpackBody(packed, coding, text.length - 1)).rejects.toMatchObject({ code: 'body_too_large' })
})

test.each(packers)(
  '%s: what is damaged, cut or has more than one member is refused',
  async (coding, pack) => {
    const packed = pack(text)
    const bodies = {
      plain: Buffer.from(text),
      cut: packed.subarray(0, -8),
      'two members': Buffer.concat([packed, pack(text)]),
      trailing: Buffer.concat([packed, Buffer.from('xyz')]),
      zeros: Buffer.concat([packed, Buffer.alloc(8)]),
    }
    for (const [name, body] of Object.entries(bodies)) {
      await expect(unpackBody(body, coding, 1e6), name).rejects.toMatchObject({ code: 'malformed_json' })
    }
  },
)

test.each(packers)('%s: a bomb ends at the limit, by the bytes that were read', async (coding, pack) => {
  const bomb = pack(Buffer.alloc(32 * 1024 * 1024))
  let read = 0
  const unpacked = unpackBody(bomb, coding, 100_000, (bytes) => {
    read += bytes
  })
  await expect(unpacked).rejects.toMatchObject({ code: 'body_too_large' })
  expect(read).toBeLessThanOrEqual(100_000)
})

test('an error of the budget ends the work', async () => {
  const full = () => {
    throw new RateLimitedError(1, 'full')
  }
  await expect(unpackBody(gzipSync(text), 'gzip', 1e6, full)).rejects.toThrow('full')
})

test('one known coding is accepted', () => {
  for (const none of [undefined, '', 'identity', ' Identity ']) expect(readCoding(none)).toBeNull()
  expect(readCoding('GZIP')).toBe('gzip')
  expect(readCoding('x-gzip')).toBe('gzip')
  for (const other of ['compress', 'gzip, br', 'constructor', 'aws-chunked']) {
    expect(() => readCoding(other)).toThrow('one Content-Encoding of gzip, deflate, br, zstd')
  }
})
