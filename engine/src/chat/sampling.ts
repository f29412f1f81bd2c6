import { randomInt } from 'node:crypto'
import type { LlamaModel, Token } from 'node-llama-cpp'
import { forbidEnd } from '../model/forbid-end.ts'
import { z } from 'zod'

/** More than OpenAI allows: callers of other APIs have longer lists. */
const maxStops = 16
const stopString = z.string().min(1, 'must not be empty').max(1000)

/** The members of a request that change the sampling, and the texts that end it. */
export const samplingFields = {
  stop: z
    .union(
      [stopString, z.array(stopString).max(maxStops)],
      `must be a text, or a list of at most ${maxStops} texts`,
    )
    .nullish(),
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
  /** As in vLLM: above 1 makes repetitions less likely */
  repetition_penalty: z.number().positive().max(2).nullish(),
  seed: z.int().nullish(),
  /** Only requests with the same salt share the cache. */
  cache_salt: z.string().max(1000).nullish(),
  /** As in vLLM: the answer does not end before this many tokens, or before its limit */
  min_tokens: z.int().min(0).max(1_000_000).nullish(),
  ignore_eos: z.boolean().nullish(),
}

const samplingRequest = z.object(samplingFields)
type SamplingRequest = z.infer<typeof samplingRequest>

const penaltyTokens = 1024

/** The sampling defaults of llama.cpp's server. */
const defaults = { temperature: 0.8, topP: 0.95, topK: 40, minP: 0.05 } as const

/** The sampling options of the choice `index`, for node-llama-cpp. */
function toSampling(request: SamplingRequest, index: number) {
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

function toPenalty(request: SamplingRequest) {
  const presencePenalty = request.presence_penalty ?? 0
  const frequencyPenalty = request.frequency_penalty ?? 0
  const penalty = request.repetition_penalty ?? 1
  if (presencePenalty === 0 && frequencyPenalty === 0 && penalty === 1) return false as const
  return { lastTokens: penaltyTokens, penalty, presencePenalty, frequencyPenalty }
}

/** The fewest tokens that an answer must have; Infinity for as many as it may have */
export function findLeastTokens({ min_tokens: least, ignore_eos: isEndless }: SamplingRequest): number {
  return isEndless === true ? Infinity : (least ?? 0)
}

/** node-llama-cpp's options. `onToken` must see each generated token, which is penalized and counted. */
export function toEvaluation(
  request: SamplingRequest,
  { index, model }: { index: number; model: LlamaModel },
) {
  const { repeatPenalty: penalty, ...sampling } = toSampling(request, index)
  const least = findLeastTokens(request)
  const generated: Token[] = []
  const onToken = (token: Token): void => void generated.push(token)
  const ending = least === 0 ? {} : { tokenBias: forbidEnd(model, () => generated.length < least) }
  if (penalty === false) {
    return { options: { ...sampling, ...ending }, onToken: least === 0 ? () => {} : onToken }
  }
  const { lastTokens, ...rest } = penalty
  const punishTokens = () => generated.slice(-lastTokens)
  return {
    options: {
      ...sampling,
      ...ending,
      repeatPenalty: { ...rest, punishTokens, maxPunishTokens: lastTokens },
    },
    onToken,
  }
}
