import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createStopFilter } from './stop-filter.ts'

test('cuts at the first stop string, however the text is split', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 4 })),
      fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 3 }), {
        maxLength: 4,
      }),
      (pieces, stops) => {
        const filter = createStopFilter(stops)
        const shown = pieces.map((piece) => filter.push(piece)).join('') + filter.flush()
        const text = pieces.join('')
        // The stop string that ends first wins, because the filter sees the text incrementally.
        const ends = stops.flatMap((stop) => (text.includes(stop) ? [text.indexOf(stop) + stop.length] : []))
        if (ends.length === 0) expect(shown).toBe(text)
        else {
          expect(text.startsWith(shown)).toBe(true)
          expect(stops).toContain(filter.stopped)
          expect(text.startsWith(filter.stopped!, shown.length)).toBe(true)
        }
        expect(filter.stopped !== null).toBe(ends.length > 0)
        for (const stop of stops) expect(shown).not.toContain(stop)
      },
    ),
  )
})

test('holds back only a possible prefix of a stop string', () => {
  const filter = createStopFilter(['END'])
  expect([
    filter.push('the E'),
    filter.push('N'),
    filter.push('x'),
    filter.push('E'),
    filter.flush(),
  ]).toEqual(['the ', '', 'ENx', '', 'E'])
})
