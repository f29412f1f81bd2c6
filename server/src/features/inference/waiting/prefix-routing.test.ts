import fc from 'fast-check'
import { expect, test } from 'vitest'
import { pickByHash } from './prefix-routing.ts'
import type { Place } from './prefix-routing.ts'

const hash = fc.integer({ min: 0, max: 2 ** 32 - 1 })
const places = fc.uniqueArray(
  fc.record({
    id: fc.uuid(),
    requests: fc.nat(30),
    sequences: fc.integer({ min: 1, max: 32 }),
    tokens: fc.nat(10_000),
  }),
  { minLength: 1, maxLength: 12, selector: ({ id }) => id },
)
const idlePlace = (id: string) => ({ id, requests: 0, sequences: 4, tokens: 0 })

test('every process picks the same place, in whatever order it knows them', () => {
  fc.assert(
    fc.property(hash, places, fc.nat(), (key, known, turn) => {
      const at = turn % known.length
      const turned = [...known.slice(at), ...known.slice(0, at)].toReversed()
      expect(pickByHash(key, turned)).toBe(pickByHash(key, known))
    }),
  )
})

test('no request waits for a full place while another is free, or goes to a busy one with more than 1.25 times the mean', () => {
  fc.assert(
    fc.property(hash, places, (key, known) => {
      const picked = pickByHash(key, known)
      const free = known.filter(({ requests, sequences }) => requests < sequences)
      if (free.length > 0) expect(free).toContain(picked)
      const candidates = free.length > 0 ? free : known
      const mean = candidates.reduce((sum, { tokens }) => sum + tokens, 0) / candidates.length
      if (picked.requests >= 8) expect(picked.tokens).toBeLessThanOrEqual(1.25 * mean)
    }),
    { numRuns: 1_000 },
  )
})

test('if a place goes, only its own requests move', () => {
  fc.assert(
    fc.property(hash, places, (key, known) => {
      const idle = known.map(({ id }) => idlePlace(id))
      const picked = pickByHash(key, idle)
      for (const gone of idle) {
        if (gone === picked) continue
        expect(
          pickByHash(
            key,
            idle.filter((each) => each !== gone),
          ),
        ).toBe(picked)
      }
    }),
  )
})

test('hashes spread evenly over places whose ids differ little', () => {
  const known = Array.from({ length: 4 }, (_, index) =>
    idlePlace(`01999999-0000-7000-8000-00000000000${index}`),
  )
  const counts = new Map<string, number>()
  for (let index = 0; index < 40_000; index += 1) {
    const { id } = pickByHash(Math.imul(index, 0x9e3779b1) >>> 0, known)
    counts.set(id, (counts.get(id) ?? 0) + 1)
  }
  expect([...counts.values()].every((count) => count > 9_500 && count < 10_500)).toBe(true)
})

test.for<[string, Partial<Place>, Partial<Place>]>([
  ['is full', { requests: 4, tokens: 10 }, { requests: 3, tokens: 10 }],
  [
    'has more than its share',
    { requests: 9, sequences: 64, tokens: 2_000 },
    { requests: 9, sequences: 64, tokens: 1_000 },
  ],
])('a place that %s gives its requests to the same next one, and gets them back', ([, busy, other]) => {
  const idle = ['a', 'b', 'c'].map(idlePlace)
  const first = pickByHash(7, idle)
  const places = idle.map((place) => ({ ...place, ...(place.id === first.id ? busy : other) }))
  const second = pickByHash(7, places)
  expect(second.id).not.toBe(first.id)
  const left = idle.filter((place) => place !== first)
  expect(pickByHash(7, left).id).toBe(second.id)
  expect(
    pickByHash(
      7,
      places.map((place) => ({ ...place, ...other })),
    ).id,
  ).toBe(first.id)
})
