import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hasPoint, normalizeRanges, partition, subtractRanges } from './ranges.ts'

const points = Array.from({ length: 12 }, (_, point) => point)
const anyRanges = fc.array(
  fc
    .tuple(fc.nat(10), fc.nat(10))
    .map(([one, other]) => [Math.min(one, other), Math.max(one, other)] as const),
  { maxLength: 4 },
)

test('normalized ranges hold the same points, sorted and apart from each other', () => {
  fc.assert(
    fc.property(anyRanges, (ranges) => {
      const normalized = normalizeRanges(ranges)
      expect(points.filter((point) => hasPoint(normalized, point))).toEqual(
        points.filter((point) => hasPoint(ranges, point)),
      )
      for (const [index, [first]] of normalized.entries()) {
        if (index > 0) expect(first).toBeGreaterThan(normalized[index - 1]![1] + 1)
      }
    }),
  )
})

test('a difference holds the points of the first ranges only', () => {
  fc.assert(
    fc.property(anyRanges, anyRanges, (ranges, without) => {
      const left = subtractRanges(normalizeRanges(ranges), without)
      expect(points.filter((point) => hasPoint(left, point))).toEqual(
        points.filter((point) => hasPoint(ranges, point) && !hasPoint(without, point)),
      )
    }),
  )
})

test('a part of a partition is inside or outside of each set', () => {
  fc.assert(
    fc.property(fc.array(anyRanges.map(normalizeRanges), { maxLength: 4 }), (sets) => {
      const parts = partition(sets)
      const covered = points.filter((point) => sets.some((set) => hasPoint(set, point)))
      expect(points.filter((point) => parts.some((part) => hasPoint(part, point)))).toEqual(covered)
      for (const part of parts) {
        const members = points.filter((point) => hasPoint(part, point))
        for (const set of sets) expect(new Set(members.map((point) => hasPoint(set, point))).size).toBe(1)
      }
    }),
  )
})
