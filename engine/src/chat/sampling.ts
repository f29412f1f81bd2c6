import { randomInt } from 'node:crypto'
import { z } from 'zod'

/** The members of a request that change the sampling. */
export const samplingFields = {
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  /** -1 turns it off, as in vLLM */
  top_k: z
    .int()
    .min(-1)
    .max(1_000_000)
    .transform((count) => Math.max(count, 0))
    .nullish(),
  min_p: z.number().min(0).max(1).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  seed: z.int().nullish(),
}

const samplingRequest = z.object(samplingFields)
type SamplingRequest = z.infer<typeof samplingRequest>

const penaltyTokens = 1024

/** The sampling defaults of llama.cpp's server. */
const defaults = { temperature: 0.8, topP: 0.95, topK: 40, minP: 0.05 } as const

/** The sampling options of the choice `index`, for node-llama-cpp. */
export function toSampling(request: SamplingRequest, index: number) {
  return {
    temperature: request.temperature ?? defaults.temperature,
    topP: request.top_p ?? defaults.topP,
    topK: request.top_k ?? defaults.topK,
    minP: request.min_p ?? defaults.minP,
    // node-llama-cpp's default seed is the current second, which concurrent requests share.
    seed:
      request.seed == null
        ? randomInt(2 ** 32)
        : Number(BigInt.asUintN(32, BigInt(request.seed) + BigInt(index))),
    repeatPenalty: toPenalty(request),
  }
}

function toPenalty({ presence_penalty: presence, frequency_penalty: frequency }: SamplingRequest) {
  if ((presence ?? 0) === 0 && (frequency ?? 0) === 0) return false as const
  return {
    lastTokens: penaltyTokens,
    penalty: 1,
    presencePenalty: presence ?? 0,
    frequencyPenalty: frequency ?? 0,
  } as const
}
