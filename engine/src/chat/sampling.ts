import { randomInt } from 'node:crypto'
import type { ChatRequest } from './chat-request.ts'

const penaltyTokens = 1024

/** The sampling defaults of llama.cpp's server. */
const defaults = { temperature: 0.8, topP: 0.95, topK: 40, minP: 0.05 } as const

/** The sampling options of the choice `index`, for node-llama-cpp. */
export function toSampling(request: ChatRequest, index: number) {
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

function toPenalty({ presence_penalty: presence, frequency_penalty: frequency }: ChatRequest) {
  if ((presence ?? 0) === 0 && (frequency ?? 0) === 0) return false as const
  return {
    lastTokens: penaltyTokens,
    penalty: 1,
    presencePenalty: presence ?? 0,
    frequencyPenalty: frequency ?? 0,
  } as const
}
