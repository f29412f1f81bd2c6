import type { Token } from 'node-llama-cpp'
import { z } from 'zod'
import { maxCharactersPerToken } from '../model/limits.ts'
import type { LoadedModel } from '../model/load-model.ts'

/** Fields that cut texts, by the names of vLLM, Voyage, and TEI and NVIDIA */
export const truncationFields = {
  truncate_prompt_tokens: z
    .union([z.literal(-1), z.int().min(1)], 'must be -1, or a number of tokens above 0')
    .nullish(),
  truncation: z.boolean().nullish(),
  truncate: z.union([z.boolean(), z.enum(['NONE', 'END'])], 'must be true, false, NONE or END').nullish(),
}

/** Ignored, these fields would change what a response means. */
export const unsupportedFields: Readonly<Record<string, (value: unknown) => boolean>> = {
  instruction: (value) => value === '',
  max_chunks_per_doc: () => false,
  overlap_tokens: (value) => value === 0,
}

type Truncation = z.infer<z.ZodObject<typeof truncationFields>>

/** The tokens after which a text is cut, special ones included; null to refuse longer texts. */
export function findCut(
  { truncate_prompt_tokens: most, truncation, truncate }: Truncation,
  { embeddingContextSize: limit }: Pick<LoadedModel, 'embeddingContextSize'>,
): number | null {
  if (typeof most === 'number') return most === -1 ? limit : Math.min(most, limit)
  return truncation === true || truncate === true || truncate === 'END' ? limit : null
}

/** How a model reads a text. */
interface TextReader {
  tokenize: (text: string) => Token[]
  /** The tokens of the input that has these tokens, special ones included */
  count: (tokens: Token[]) => number
}

/** The first tokens of a text, at most `most` in an input. At least one stays. */
export function cutText(text: string, most: number, { tokenize, count }: TextReader): Token[] {
  // Tokenizing a long text would block other requests.
  return cutTokens(tokenize(text.slice(0, most * maxCharactersPerToken)), most, count)
}

/** The first of these tokens, at most `most` in an input. At least one stays. */
export function cutTokens(tokens: Token[], most: number, count: TextReader['count']): Token[] {
  return tokens.slice(0, Math.max(1, most - (count(tokens) - tokens.length)))
}
