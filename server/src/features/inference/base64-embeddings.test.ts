import { expect, test } from 'vitest'
import { encodeEmbeddings } from './base64-embeddings.ts'

test('numbers become base64 of little-endian 32-bit floats, and all else stays', () => {
  const answer = {
    object: 'list',
    data: [{ index: 0, embedding: [1, -0.5, 0.1] }],
    usage: { prompt_tokens: 1 },
  }
  const encoded = encodeEmbeddings(answer) as typeof answer
  expect(encoded).toEqual({ ...answer, data: [{ index: 0, embedding: 'AACAPwAAAL/NzMw9' }] })
})

test.each([
  [null],
  ['text'],
  [{}],
  [{ data: [] }],
  [{ data: [{ embedding: 'AACAPw==' }] }],
  [{ data: [null] }],
])('there is nothing to turn in %j', (answer) => {
  expect(encodeEmbeddings(answer)).toBeNull()
})
