import fc from 'fast-check'
import { expect, test } from 'vitest'
import { NumberScan } from './number-scan.ts'

const scanner = new NumberScan()

function scan(text: string, at = 0): [end: number, commas: number] {
  return [scanner.scan(Buffer.from(text, 'latin1'), at), scanner.commas]
}

test('a scan stops at the end of a list of numbers and counts its commas', () => {
  const list = '[1,-2.5e-7,3E+1 , 4\n,\t5\r]'
  expect(scan(`${list},[6]`, 1)).toEqual([list.length - 1, 4])
  expect(scan(',,')).toEqual([2, 2])
  expect(scan('')).toEqual([0, 0])
})

test.each(['1,null', '1,NaN', '1,-Infinity', '1,"2"', '1,[2]', '1,{}'])(
  'a scan of %s stops at the first byte that no number has',
  (text) => {
    expect(scan(text)).toEqual([text.search(/[A-Za-z"[{]/), 1])
  },
)

test('a scan of any bytes stops where a search does, at any offset and length', () => {
  const piece = fc.oneof(
    fc.constantFrom(',', '0.0123456789', '-1e-05', ' '.repeat(40), ']', 'null'),
    fc.constant('-0.0123456789012345,'.repeat(2_000)),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), fc.nat(40), (pieces, at) => {
      const text = `${' '.repeat(at)}${pieces.join('')}`
      const found = /[\]n]/.exec(text)?.index ?? text.length
      expect(scan(text, at)).toEqual([found, text.slice(0, found).split(',').length - 1])
    }),
    { numRuns: 300 },
  )
})
