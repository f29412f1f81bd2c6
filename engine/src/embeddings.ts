import { z } from 'zod'
import { invalid } from './errors.ts'
import { MAX_CHARACTERS_PER_TOKEN } from './generate.ts'
import type { Engine } from './model.ts'

const MAX_INPUTS = 2048

const Text = z.string().min(1, "can't be empty")

/** The body of POST /v1/embeddings; unknown fields are dropped. */
export const EmbeddingsRequestBody = z.object({
  model: z.string(),
  input: z.union(
    [Text, z.array(Text).min(1, 'needs at least one text').max(MAX_INPUTS)],
    `has to be a text or a list of 1 to ${MAX_INPUTS} texts, none of them empty; lists of tokens are not supported`,
  ),
  encoding_format: z.enum(['float', 'base64']).nullish(),
  dimensions: z.int().min(1).nullish(),
})

/** A checked embeddings request. */
export type EmbeddingsRequest = z.infer<typeof EmbeddingsRequestBody>

/** The vectors in the order of the inputs, each of length one, and the tokens that were read for them. */
export interface Embeddings {
  vectors: number[][]
  promptTokens: number
}

/** Computes the embeddings one after the other. Rejects with the signal's reason once it is aborted. */
export async function computeEmbeddings(
  engine: Engine,
  request: EmbeddingsRequest,
  signal: AbortSignal,
): Promise<Embeddings> {
  const size = engine.model.embeddingVectorSize
  if (request.dimensions != null && request.dimensions !== size) {
    throw invalid('dimensions', `This model's embeddings have ${size} dimensions and can't be shortened.`)
  }
  const context = await engine.embeddings()
  const limit = engine.embeddingContextSize
  const inputs = [request.input].flat()
  const lengths = inputs.map((input) =>
    input.length > limit * MAX_CHARACTERS_PER_TOKEN ? input.length : context.calculateInputLength(input),
  )
  for (const [index, length] of lengths.entries()) {
    if (length < limit) continue
    const param = Array.isArray(request.input) ? `input.${index}` : 'input'
    const message = `${param} is too long: the model reads fewer than ${limit} tokens at a time.`
    throw invalid(param, message, 'context_length_exceeded')
  }

  const vectors: number[][] = []
  for (const input of inputs) {
    signal.throwIfAborted()
    const { vector } = await context.getEmbeddingFor(input)
    vectors.push(normalize(vector))
  }
  return { vectors, promptTokens: lengths.reduce((sum, length) => sum + length, 0) }
}

/** The vector scaled to length one; a zero vector stays as it is. */
export function normalize(vector: readonly number[]): number[] {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0))
  // Rounded to float32, so that a list of numbers and its base64 form are the same values.
  return vector.map((value) => Math.fround(length === 0 ? 0 : value / length))
}

/** OpenAI's base64 form of a vector: its values as little-endian float32. */
export function toBase64(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * 4)
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * 4)
  return bytes.toString('base64')
}
