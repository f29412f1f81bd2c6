import { expect, test } from 'vitest'
import { EmbeddingEncoder } from './base64-embeddings.ts'

/** Encodes a text that arrives in pieces of `size`. */
function encode(text: string, size = text.length): string {
  const encoder = new EmbeddingEncoder()
  let encoded = ''
  for (let at = 0; at < text.length; at += size) encoded += encoder.take(text.slice(at, at + size))
  return encoded + encoder.finish()
}

const response =
  '{ "x":1.0, "data":[{"object":"embedding","index":0,"embedding":[1,-0.5,0.1]},{"embedding" :\n[ 1 ],"index":1}]}'

test('embeddings become base64 of little-endian 32-bit floats wherever the response is split; no other byte changes', () => {
  const expected = response.replace('[1,-0.5,0.1]', '"AACAPwAAAL/NzMw9"').replace('[ 1 ]', '"AACAPw=="')
  for (let size = 1; size <= response.length; size += 1) expect(encode(response, size)).toBe(expected)
})

test.each([
  ['null'],
  ['{"data":[]}'],
  ['{"data":[{"embedding":"AACAPw=="}]}'],
  ['{"embedding":[[1,2],[3]]}'],
  ['{"data":["embedding",[1]],"a\\"embedding":[1],"my_embedding":[1]}'],
  [JSON.stringify({ text: '"embedding":[1]' })],
  ['{"embedding":[1,2'],
  ['{"embedding":[1,x]}'],
])('%s contains no embeddings to encode', (text) => {
  for (let size = 1; size <= text.length; size += 1) expect(encode(text, size)).toBe(text)
})

test('a list without an end is rejected before it fills the memory', () => {
  const encoder = new EmbeddingEncoder()
  encoder.take('{"embedding":[1')
  expect(() => {
    for (let written = 0; written < 100; written += 1) encoder.take(',1'.repeat(10_000))
  }).toThrow('too long')
})
