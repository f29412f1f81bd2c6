/** The cosine similarity of two vectors of the same length, from -1 to 1; 0 if one of them is zero. */
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

/** The similarity matrix: `matrix[i][j]` is the similarity of vectors i and j. */
export function compareVectors(vectors: readonly (readonly number[])[]): number[][] {
  return vectors.map((a) => vectors.map((b) => cosineSimilarity(a, b)))
}

/** The most similar pair and the range of all pairs; null for fewer than two texts. */
export function summarize(
  matrix: readonly (readonly number[])[],
): { pair: [number, number]; min: number; max: number } | null {
  const pairs = matrix.flatMap((row, i) =>
    row.slice(i + 1).map((value, offset) => ({ value, pair: [i, i + 1 + offset] as [number, number] })),
  )
  const [first] = pairs.toSorted((a, b) => b.value - a.value)
  if (!first) return null
  return { pair: first.pair, max: first.value, min: Math.min(...pairs.map(({ value }) => value)) }
}
