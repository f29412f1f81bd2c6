import { z } from 'zod'
import { invalid } from '../base/errors.ts'
import { samplingFields } from '../chat/sampling.ts'

const maxPrompts = 512

/** Token ids of the model's own vocabulary */
const tokenIds = z.array(z.int().min(0)).min(1, 'must not be empty')

/** The body of POST /v1/completions. Other unknown fields are dropped, and null means the default. */
export const completionRequestBody = z.object({
  model: z.string(),
  prompt: z.union(
    [
      z.string(),
      tokenIds,
      z.array(z.string()).min(1).max(maxPrompts),
      z.array(tokenIds).min(1).max(maxPrompts),
    ],
    `must be a string or a non-empty token array, or a list of 1 to ${maxPrompts} of them`,
  ),
  suffix: z.string().nullish(),
  max_tokens: z.int().min(0).nullish(),
  echo: z.boolean().nullish(),
  logprobs: z.int().min(0).max(20).nullish(),
  n: z.int().min(1).max(16).nullish(),
  best_of: z.int().min(1).nullish(),
  ...samplingFields,
  stream: z.boolean().nullish(),
  stream_options: z
    .object({ include_usage: z.boolean().nullish(), continuous_usage_stats: z.boolean().nullish() })
    .nullish(),
})

export type CompletionRequest = z.infer<typeof completionRequestBody>

/** Rejects combinations whose answer would silently mean something else. Throws a RequestError (400). */
export function checkCompletion({
  n,
  best_of: bestOf,
  suffix,
  echo,
  stream,
  logprobs,
  max_tokens: most,
}: CompletionRequest): void {
  if (bestOf != null && bestOf !== (n ?? 1)) {
    throw invalid('best_of', 'best_of is not supported by this engine. Omit it.', 'unsupported_parameter')
  }
  if ((suffix ?? '') !== '' && echo === true) throw invalid('suffix', "suffix can't be combined with echo.")
  if (most === 0 && echo !== true) throw invalid('max_tokens', 'max_tokens: 0 requires echo: true.')
  if (echo === true && logprobs != null && stream === true) {
    throw invalid('stream', "stream can't be combined with echo and logprobs.")
  }
}
