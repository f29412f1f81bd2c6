import { expect, test } from 'vitest'
import { normalize, toBase64 } from './embeddings.ts'

test('scales a vector to length 1 and keeps a zero vector', () => {
  expect(normalize([3, 4])).toEqual([Math.fround(0.6), Math.fround(0.8)])
  expect(normalize([0, 0])).toEqual([0, 0])
})

test('encodes the same values as base64', () => {
  const vector = normalize([0.1, -0.7, 12])
  const bytes = Buffer.from(toBase64(vector), 'base64')
  expect(vector.map((_, index) => bytes.readFloatLE(index * 4))).toEqual(vector)
})
