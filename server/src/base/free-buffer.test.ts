import { expect, test } from 'vitest'
import { freeBuffer } from './free-buffer.ts'

test('a buffer with its own memory is freed', () => {
  const bytes = Buffer.allocUnsafeSlow(1024)
  freeBuffer(bytes)
  expect([bytes.length, bytes.buffer.byteLength]).toEqual([0, 0])
})

test('a part of a larger buffer is kept, so that the other parts stay valid', () => {
  const whole = Buffer.from('x'.repeat(1024))
  freeBuffer(whole.subarray(1))
  freeBuffer(Buffer.from('pooled'))
  expect([whole.length, Buffer.from('next').toString()]).toEqual([1024, 'next'])
})
