/** Turns embeddings that an engine answered as numbers into base64 of little-endian 32-bit floats, as OpenAI encodes them. */
export function encodeEmbeddings(answer: unknown): unknown {
  const data = (answer as { data?: unknown } | null)?.data
  if (!Array.isArray(data)) return answer
  return { ...(answer as object), data: data.map(encodeItem) }
}

function encodeItem(item: unknown): unknown {
  const embedding = (item as { embedding?: unknown } | null)?.embedding
  if (!Array.isArray(embedding)) return item
  const bytes = Buffer.alloc(embedding.length * 4)
  embedding.forEach((value, index) => bytes.writeFloatLE(Number(value), index * 4))
  return { ...(item as object), embedding: bytes.toString('base64') }
}
