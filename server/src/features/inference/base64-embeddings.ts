/**
 * Encodes the embeddings of a response as OpenAI does: base64 of little-endian 32-bit floats. Returns null when the response
 * contains no embeddings as numbers.
 */
export function encodeEmbeddings(response: unknown): unknown {
  const data = (response as { data?: unknown } | null)?.data
  if (!Array.isArray(data) || !data.some(hasNumbers)) return null
  return { ...(response as object), data: data.map((item) => (hasNumbers(item) ? encodeItem(item) : item)) }
}

function hasNumbers(item: unknown): item is { embedding: unknown[] } {
  return Array.isArray((item as { embedding?: unknown } | null)?.embedding)
}

function encodeItem(item: { embedding: unknown[] }): unknown {
  const { embedding } = item
  const bytes = Buffer.alloc(embedding.length * 4)
  embedding.forEach((value, index) => bytes.writeFloatLE(Number(value), index * 4))
  return { ...item, embedding: bytes.toString('base64') }
}
