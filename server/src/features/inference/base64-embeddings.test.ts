import { expect, test } from 'vitest'
import { encodeEmbeddings } from './base64-embeddings.ts'

test('embeddings become base64 of little-endian 32-bit floats; the rest is unchanged', () => {
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
])('%j contains no embeddings to encode', (answer) => {
  expect(encodeEmbeddings(answer)).toBeNull()
})
