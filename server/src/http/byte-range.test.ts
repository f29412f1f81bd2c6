import { expect, test } from 'vitest'
import { readByteRange } from './byte-range.ts'

const file = { size: 100, entityTag: '"a"' }

test.each([
  ['bytes=0-', 0, 100],
  ['bytes=10-', 10, 100],
  ['bytes=10-19', 10, 20],
  ['bytes=10-999', 10, 100],
  ['bytes=-20', 80, 100],
  ['bytes=-999', 0, 100],
  ['BYTES=99-99', 99, 100],
])('%s is a part', (range, start, end) => {
  expect(readByteRange({ range }, file)).toEqual({ kind: 'part', start, end })
  expect(readByteRange({ range, 'if-range': '"a"' }, file)).toEqual({ kind: 'part', start, end })
})

test.each([undefined, '', 'bytes=-', 'bytes=9-1', 'bytes=0-1,5-6', 'lines=1-2', 'bytes=a-', 'bytes=1.5-'])(
  '%s is the whole file',
  (range) => {
    expect(readByteRange({ range }, file)).toEqual({ kind: 'whole' })
  },
)

test.each(['"b"', 'W/"a"', 'Thu, 26 Nov 2026 00:00:00 GMT'])(
  'If-Range %s names another version',
  (version) => {
    expect(readByteRange({ range: 'bytes=10-', 'if-range': version }, file)).toEqual({ kind: 'whole' })
  },
)

test.each(['bytes=100-', 'bytes=-0', 'bytes=9999999999999999-'])('%s is unsatisfiable', (range) => {
  expect(readByteRange({ range }, file)).toEqual({ kind: 'unsatisfiable' })
})
