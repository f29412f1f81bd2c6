import { expect, test } from 'vitest'
import { openHeaderCheck } from './receive-part.ts'

test('many small parts of a file with a long header read it no more often than one large one', async () => {
  let reads = 0
  // The start of a header whose value has not arrived.
  const bytes = Buffer.alloc(64 * 1024)
  bytes.write('GGUF', 'latin1')
  bytes.writeUInt32LE(3, 4)
  bytes.writeBigUInt64LE(1n, 8)
  bytes.writeBigUInt64LE(1n, 16)
  // One value: a text of 64 kB under the name `a`
  bytes.writeBigUInt64LE(1n, 24)
  bytes.write('a', 32, 'latin1')
  bytes.writeUInt32LE(8, 33)
  bytes.writeBigUInt64LE(64_000n, 37)
  const file = {
    async read(buffer: Buffer, _at: number, length: number, position: number) {
      if (position === 0) reads += 1
      return { bytesRead: bytes.copy(buffer, 0, position, position + length), buffer }
    },
  }
  const upload = { bytes: 10_000_000, file_name: 'model.gguf' }
  for (let offset = 0; offset < 5_000; offset += 1) {
    const check = openHeaderCheck({ runtimes: { engines: [] } }, upload, file as never, offset)
    await check(offset + 1)
  }
  expect(reads).toBeLessThan(20)
})
