/** Files that try to make the reader wait, fill the memory or believe impossible sizes. */

import { describe, expect, test } from 'vitest'
import { InvalidFileError } from './byte-cursor.ts'
import type { ByteSource } from './byte-cursor.ts'
import { readGgufHeader } from './gguf-header.ts'
import { parseJson } from './parse-json.ts'
import { readSafetensorsHeader } from './safetensors-header.ts'

const megabyte = 2 ** 20

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

function u64(value: bigint | number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}

const text = (value: string) => Buffer.concat([u64(Buffer.byteLength(value)), Buffer.from(value)])
const gguf = (entries: bigint | number, ...parts: Buffer[]) =>
  Buffer.concat([Buffer.from('GGUF'), u32(3), u64(0), u64(entries), ...parts])
const array = (type: number, length: bigint | number) => Buffer.concat([u32(9), u32(type), u64(length)])

/** A file of `size` bytes that begins with `start` and goes on with `filler`, without existing as a whole. */
function endless(
  start: Buffer,
  size: number,
  filler = Buffer.alloc(2 * megabyte),
): ByteSource & { sent: number } {
  return {
    size,
    sent: 0,
    async read(from, to) {
      this.sent += to - from
      const bytes = new Uint8Array(to - from)
      for (let at = 0; at < bytes.length; at += filler.length) {
        bytes.set(filler.subarray(0, Math.min(filler.length, bytes.length - at)), at)
      }
      if (from < start.length) bytes.set(start.subarray(from, Math.min(to, start.length)))
      return bytes
    },
  }
}

function fileOf(bytes: Buffer): ByteSource {
  return { size: bytes.length, read: async (from, to) => bytes.subarray(from, to) }
}

/** Resolves to why a file is refused. Fails if that takes a second of processor time or much memory. */
async function refuse(read: () => Promise<unknown>): Promise<string> {
  const memory = process.memoryUsage()
  const started = process.cpuUsage()
  const error: unknown = await read().then(
    () => null,
    (reason: unknown) => reason,
  )
  const { user } = process.cpuUsage(started)
  const after = process.memoryUsage()
  expect(error).toBeInstanceOf(InvalidFileError)
  expect(user / 1000).toBeLessThan(1000)
  expect(after.heapUsed + after.arrayBuffers - memory.heapUsed - memory.arrayBuffers).toBeLessThan(
    64 * megabyte,
  )
  return (error as Error).message
}

describe('a GGUF file', () => {
  const key = text('a.b')
  test.each<[string, ByteSource, RegExp]>([
    [
      'that is an archive',
      fileOf(Buffer.concat([Buffer.from('PK\x03\x04'), Buffer.alloc(100)])),
      /not a GGUF file/,
    ],
    ['that is empty', fileOf(Buffer.alloc(0)), /more bytes than the file has/],
    [
      'of another version',
      fileOf(Buffer.concat([Buffer.from('GGUF'), u32(9), Buffer.alloc(16)])),
      /GGUF version 9/,
    ],
    [
      'with 2^64 entries',
      fileOf(gguf(2n ** 64n - 1n, Buffer.alloc(100))),
      /claims 1844674407370955\d+ entries/,
    ],
    ['with a billion entries', endless(gguf(1e9), 50e9), /claims 1000000000 entries/],
    [
      'with 2^64 tensors',
      fileOf(Buffer.concat([Buffer.from('GGUF'), u32(3), u64(2n ** 64n - 1n), u64(0), Buffer.alloc(9)])),
      /claims 1844674407370955\d+ tensors/,
    ],
    [
      'with a key of 2^64 bytes',
      fileOf(gguf(1, u64(2n ** 64n - 1n), Buffer.alloc(99))),
      /more bytes than the file has/,
    ],
    [
      'with a text of 2^63 bytes',
      fileOf(gguf(1, key, u32(8), u64(2n ** 63n), Buffer.alloc(99))),
      /more bytes than the file has/,
    ],
    [
      'with a text of 40 GB in a file of 50 GB',
      endless(gguf(1, key, u32(8), u64(40e9)), 50e9),
      /header is too long/,
    ],
    [
      'with a list of 2^62 numbers',
      fileOf(gguf(1, key, array(4, 2n ** 62n), Buffer.alloc(99))),
      /more bytes than the file has/,
    ],
    ['with a list of 10 billion numbers', endless(gguf(1, key, array(0, 10e9)), 50e9), /header is too long/],
    ['with a list of lists', fileOf(gguf(1, key, array(9, 3), Buffer.alloc(99))), /unknown type/],
    ['with a value of unknown type', fileOf(gguf(1, key, u32(77), Buffer.alloc(99))), /unknown type/],
    ['with a list of endless empty texts', endless(gguf(1, key, array(8, 10e9)), 50e9), /header is too long/],
    [
      'that ends in a list of texts',
      fileOf(gguf(1, key, array(8, 1000), text('a'))),
      /more bytes than the file has/,
    ],
    [
      'with tensors whose product overflows',
      fileOf(
        Buffer.concat([
          Buffer.from('GGUF'),
          u32(3),
          u64(1),
          u64(0),
          text('w'),
          u32(3),
          ...[2n ** 60n, 2n ** 60n, 2n ** 60n].map(u64),
          Buffer.alloc(12),
        ]),
      ),
      /impossible sizes/,
    ],
  ])('%s is refused', async (_name, source, message) => {
    expect(await refuse(() => readGgufHeader(source))).toMatch(message)
  })

  test('long lists of numbers are skipped without a request', async () => {
    const header = gguf(1, key, array(4, 9_000_000))
    const source = endless(header, 50e9)
    const { lengths, values } = await readGgufHeader(source)
    expect([...lengths.values(), ...values.keys()]).toEqual([9_000_000])
    expect(source.sent).toBeLessThan(megabyte)
  })
})

describe('a safetensors file', () => {
  const withHeader = (header: string | Buffer, rest = 0) => {
    const bytes = Buffer.from(header)
    return fileOf(Buffer.concat([u64(bytes.length), bytes, Buffer.alloc(rest)]))
  }
  const tensor = (shape: number[], offsets: number[]) =>
    JSON.stringify({ a: { dtype: 'F32', shape, data_offsets: offsets } })
  test.each<[string, ByteSource, RegExp]>([
    ['that is too short', fileOf(Buffer.alloc(5)), /too short/],
    [
      'whose header has 2^64 bytes',
      fileOf(Buffer.concat([u64(2n ** 64n - 1n), Buffer.alloc(99)])),
      /more bytes than the file has/,
    ],
    ['whose header has 100 MB', endless(u64(100e6), 5e9), /header is too long/],
    [
      'that is an archive',
      fileOf(Buffer.concat([Buffer.from('PK\x03\x04\0\0\0\0'), Buffer.alloc(99)])),
      /more bytes than|not valid JSON|too long/,
    ],
    ['without JSON', withHeader('not JSON', 9), /not valid JSON/],
    ['with a list', withHeader('[]', 9), /not a list of tensors/],
    ['with a tensor outside of the file', withHeader(tensor([2], [0, 8]), 4), /outside of the file/],
    ['with offsets in reverse', withHeader(tensor([0], [8, 0]), 8), /outside of the file/],
    [
      'with a shape larger than its bytes',
      withHeader(tensor([1_000_000], [0, 4]), 4),
      /larger than its bytes/,
    ],
    [
      'with a shape that overflows',
      withHeader(tensor([2 ** 40, 2 ** 40], [0, 4]), 4),
      /larger than its bytes/,
    ],
    ['with a negative shape', withHeader(tensor([-1], [0, 4]), 4), /unknown way/],
    ['with bytes that are no text', withHeader(Buffer.alloc(20, 0xff), 9), /not valid JSON/],
    [
      'with 200,000 keys that are no tensors',
      withHeader(`{${Array.from({ length: 150_000 }, (_, key) => `"${key}":0`).join()}}`),
      /unknown way/,
    ],
  ])('%s is refused', async (_name, source, message) => {
    expect(await refuse(() => readSafetensorsHeader(source))).toMatch(message)
  })

  test('a tensor with the name of a prototype is a tensor', async () => {
    const header = '{"__proto__":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
    expect(await readSafetensorsHeader(withHeader(header, 4))).toEqual([
      { name: '__proto__', type: 'F32', shape: [1], elements: 1 },
    ])
  })
})

test.each([
  ['100,000 levels', '['.repeat(100_000), /too many levels/],
  ['levels in objects', '{"a":'.repeat(1000), /too many levels/],
  ['a text that hides its end', '"\\"'.repeat(9), /not valid JSON/],
])('JSON with %s is refused', async (_name, json, message) => {
  expect(await refuse(async () => parseJson(Buffer.from(json)))).toMatch(message)
})
