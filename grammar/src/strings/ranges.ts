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
export function partition(sets: readonly Ranges[]): Ranges[] {
  const edges = sets.flatMap((ranges) => ranges.flatMap(([first, last]) => [first, last + 1]))
  const starts = [...new Set(edges)].toSorted((a, b) => a - b)
  const parts = new Map<string, (readonly [number, number])[]>()
  for (const [index, first] of starts.slice(0, -1).entries()) {
    const signature = sets.flatMap((ranges, number) => (hasPoint(ranges, first) ? [number] : [])).join(' ')
    if (signature === '') continue
    parts.set(signature, [...(parts.get(signature) ?? []), [first, starts[index + 1]! - 1]])
  }
  return [...parts.values()]
}
