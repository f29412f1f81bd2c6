import type { Token } from 'node-llama-cpp'
import { z } from 'zod'
import { invalid } from '../base/errors.ts'
import { maxCharactersPerToken } from '../model/limits.ts'
import type { UsedTokens } from '../chat/answer.ts'
import type { LoadedModel } from '../model/load-model.ts'
import { cutText, cutTokens, findCut, truncationFields } from './truncation.ts'

const maxInputs = 2048

const text = z.string().min(1, 'must not be empty')
/** Token ids of the model's own vocabulary */
const tokenIds = z.array(z.int().min(0)).min(1, 'must not be empty')

/** The body of POST /v1/embeddings. Unknown fields are dropped. */
export const embeddingsRequestBody = z.object({
  model: z.string(),
  input: z.union(
    [text, tokenIds, z.array(text).min(1).max(maxInputs), z.array(tokenIds).min(1).max(maxInputs)],
    `must be a non-empty string or token array, or a list of 1 to ${maxInputs} of them`,
  ),
  encoding_format: z.enum(['float', 'base64']).nullish(),
  dimensions: z.int().min(1).nullish(),
  ...truncationFields,
})

export type EmbeddingsRequest = z.infer<typeof embeddingsRequestBody>

/** Unit vectors in the inputs' order, one by one. Counts in `used`. Rejects with an abort's reason. */
export async function computeEmbeddings(
  loaded: LoadedModel,
  request: EmbeddingsRequest,
  { used, signal }: { used: UsedTokens; signal: AbortSignal },
): Promise<number[][]> {
  const size = loaded.model.embeddingVectorSize
  if (request.dimensions != null && request.dimensions !== size) {
    throw invalid('dimensions', `This model's embeddings have ${size} dimensions, which cannot be changed.`)
  }
  const context = await loaded.embeddings()
  const given = listInputs(request.input)
  checkVocabulary(given, loaded.model.fileInfo.metadata.tokenizer.ggml.tokens.length)
  const count = (input: EmbeddingsInput) => context.calculateInputLength(toLlamaInput(input))
  const cut = findCut(request, loaded)
  const tokenize = (text: string) => loaded.model.tokenize(text)
  const inputs =
    cut === null
      ? given
      : given.map((input) =>
          typeof input === 'string'
            ? cutText(input, cut, { tokenize, count })
            : cutTokens(input as Token[], cut, count),
        )
  const limit = loaded.embeddingContextSize
  const lengths = inputs.map((input) =>
    input.length > limit * maxCharactersPerToken ? input.length : count(input),
  )
  checkLengths(lengths, limit)

  const vectors: number[][] = []
  for (const [index, input] of inputs.entries()) {
    signal.throwIfAborted()
    loaded.threads.prepare(lengths[index]!)
    const { vector } = await context.getEmbeddingFor(toLlamaInput(input))
    used.promptTokens += lengths[index]!
    vectors.push(normalize(vector))
  }
  return vectors
}

type EmbeddingsInput = string | number[]

function listInputs(input: EmbeddingsRequest['input']): EmbeddingsInput[] {
  if (typeof input === 'string') return [input]
  return typeof input[0] === 'number' ? [input as number[]] : (input as EmbeddingsInput[])
}

function checkVocabulary(inputs: readonly EmbeddingsInput[], vocabulary: number): void {
  for (const [index, input] of inputs.entries()) {
    if (typeof input === 'string' || input.every((token) => token < vocabulary)) continue
    throw invalid(
      `input.${index}`,
      `The tokens of input.${index} must be less than ${vocabulary}, the size of this model's vocabulary.`,
    )
  }
}

function checkLengths(lengths: readonly number[], limit: number): void {
  for (const [index, length] of lengths.entries()) {
    if (length <= limit) continue
    const param = lengths.length > 1 ? `input.${index}` : 'input'
    const message = `This model's maximum context length is ${limit} tokens, but ${param} has more. Shorten it.`
    throw invalid(param, message, 'context_length_exceeded')
  }
}

/** Copies token arrays, because node-llama-cpp adds special tokens in place. */
function toLlamaInput(input: EmbeddingsInput): string | Token[] {
  return typeof input === 'string' ? input : ([...input] as Token[])
}

/** Scales a vector to length 1. A zero vector is returned unchanged. */
export function normalize(vector: readonly number[]): number[] {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0))
  // Rounding to float32 makes the list and its base64 form hold the same values.
  return vector.map((value) => Math.fround(length === 0 ? 0 : value / length))
}

/** The response with the embeddings, in OpenAI's format. */
export function toEmbeddingList(
  vectors: readonly number[][],
  { promptTokens }: UsedTokens,
  request: EmbeddingsRequest,
) {
  const encode = (vector: number[]) => (request.encoding_format === 'base64' ? toBase64(vector) : vector)
  return {
    object: 'list',
    data: vectors.map((vector, index) => ({ object: 'embedding', index, embedding: encode(vector) })),
    model: request.model,
    usage: { prompt_tokens: promptTokens, total_tokens: promptTokens },
  }
}

/** Encodes a vector in OpenAI's base64 format: little-endian float32 values. */
export function toBase64(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * 4)
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * 4)
  return bytes.toString('base64')
}
