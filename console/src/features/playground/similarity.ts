/** Cosine of the angle between two vectors of one length, from -1 to 1; 0 where one of them is null. */
export function cosineSimilarity(a: readonly number[], b: readonly number[]): number {
  let [product, squareA, squareB] = [0, 0, 0]
  for (const [place, x] of a.entries()) {
    const y = b[place] ?? 0
    product += x * y
    squareA += x * x
    squareB += y * y
  }
  const lengths = Math.sqrt(squareA) * Math.sqrt(squareB)
  return lengths === 0 ? 0 : product / lengths
}

/** Every text against every other: `matrix[i][j]` is the similarity of texts i and j. */
export function compareVectors(vectors: readonly (readonly number[])[]): number[][] {
  return vectors.map((a) => vectors.map((b) => cosineSimilarity(a, b)))
}

/** The two that are most alike, and the span of all pairs; null for fewer than two. */
export function summarize(
  matrix: readonly (readonly number[])[],
): { pair: [number, number]; least: number; most: number } | null {
  const pairs = matrix.flatMap((row, i) =>
    row.slice(i + 1).map((value, offset) => ({ value, pair: [i, i + 1 + offset] as [number, number] })),
  )
  const [first] = pairs.toSorted((a, b) => b.value - a.value)
  if (!first) return null
  return { pair: first.pair, most: first.value, least: Math.min(...pairs.map(({ value }) => value)) }
}
