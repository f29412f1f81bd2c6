import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { toHalf } from '../models/gguf.ts'
import { makeTinyModel } from '../models/make-tiny-model.ts'

test('the script writes the committed model byte for byte', () => {
  const committed = readFileSync(new URL('../models/berth-tiny.gguf', import.meta.url))
  expect(Buffer.compare(Buffer.from(makeTinyModel()), committed)).toBe(0)
})

test.each([
  [0, 0],
  [-0, 0x8000],
  [1, 0x3c00],
  [-2, 0xc000],
  [65504, 0x7bff],
  [65520, 0x7c00],
  [2 ** -24, 0x0001],
  [2 ** -25, 0x0000],
  [2 ** -14, 0x0400],
  [1 + 2 ** -11, 0x3c00],
  [1 + 3 * 2 ** -11, 0x3c02],
  [2047.9999, 0x6800],
  [0.1, 0x2e66],
  [NaN, 0x7e00],
])('%f as half precision is %i', (value, bits) => {
  expect(toHalf(value)).toBe(bits)
})
