import { freely } from '../work-budget.ts'
import type { SpendSteps } from '../work-budget.ts'

/** Inclusive ranges of code points, sorted and disjoint. */
export type Ranges = readonly (readonly [first: number, last: number])[]

/** Characters for JSON strings: no surrogates, and only control characters with a short escape. */
export const anyCharacter: Ranges = [
  [8, 10],
  [12, 13],
  [32, 0xd7ff],
  [0xe000, 0x10ffff],
]

/** Sorts ranges and merges neighbors. */
export function normalizeRanges(ranges: Ranges): Ranges {
  const merged: [number, number][] = []
  for (const [first, last] of ranges.toSorted((a, b) => a[0] - b[0])) {
    const previous = merged.at(-1)
    if (previous !== undefined && first <= previous[1] + 1) previous[1] = Math.max(previous[1], last)
    else merged.push([first, last])
  }
  return merged
}

export function subtractRanges(ranges: Ranges, without: Ranges): Ranges {
  let left: (readonly [number, number])[] = [...ranges]
  for (const [first, last] of without) {
    left = left.flatMap(([from, to]) => {
      if (last < from || first > to) return [[from, to] as const]
      return [[from, first - 1] as const, [last + 1, to] as const].filter(([a, b]) => a <= b)
    })
  }
  return normalizeRanges(left)
}

/** True when the ranges contain the code point. */
export function hasPoint(ranges: Ranges, point: number): boolean {
  return ranges.some(([first, last]) => first <= point && point <= last)
}

/** Partitions the characters of the sets so that no set distinguishes two characters of one part. */
export function partition(sets: readonly Ranges[], spend: SpendSteps = freely): Ranges[] {
  /** The sets that begin or end to hold characters at a code point */
  const changes = new Map<number, number[]>()
  for (const [number, ranges] of sets.entries()) {
    spend(ranges.length * 8)
    for (const edge of ranges.flatMap(([first, last]) => [first, last + 1])) {
      const changed = changes.get(edge)
      if (changed === undefined) changes.set(edge, [number])
      else changed.push(number)
    }
  }
  const edges = [...changes.keys()].toSorted((a, b) => a - b)
  const parts = new Map<string, (readonly [number, number])[]>()
  const current = new Set<number>()
  for (const [index, first] of edges.slice(0, -1).entries()) {
    for (const number of changes.get(first)!) if (!current.delete(number)) current.add(number)
    if (current.size === 0) continue
    spend(current.size * 4)
    const signature = [...current].toSorted((a, b) => a - b).join(' ')
    const ranges = parts.get(signature) ?? []
    ranges.push([first, edges[index + 1]! - 1])
    parts.set(signature, ranges)
  }
  return [...parts.values()]
}
