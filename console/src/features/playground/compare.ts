import { useMutation } from '@tanstack/react-query'
import type { EmbeddingsRequestInput } from '../../contract.ts'
import { ApiError, callApi } from '../../api/client.ts'
import { text } from '../../text/index.ts'
import { comparison } from './comparison.ts'
import { compareVectors } from './similarity.ts'

interface EmbeddingsResponse {
  data?: { index?: number; embedding?: number[] }[]
  usage?: { prompt_tokens?: number } | null
}

/** Embeds the texts and computes their similarities. */
export function useCompare() {
  return useMutation({
    mutationFn: async ({ deploymentId, texts }: { deploymentId: string; texts: string[] }) => {
      const body: EmbeddingsRequestInput = { model: deploymentId, input: texts, encoding_format: 'float' }
      const startedAt = performance.now()
      const response = (await callApi('POST', '/v1/embeddings', { body })) as EmbeddingsResponse
      const milliseconds = performance.now() - startedAt
      const vectors = readVectors(response, texts.length)
      return {
        texts,
        deploymentId,
        similarities: compareVectors(vectors),
        dimensions: vectors[0]?.length ?? 0,
        tokens: response.usage?.prompt_tokens ?? null,
        milliseconds,
      }
    },
    onSuccess: (result) => comparison.set((state) => ({ ...state, result })),
  })
}

/** The vectors in the texts' order. Throws ApiError unless each text has one, all of the same length. */
function readVectors({ data = [] }: EmbeddingsResponse, count: number): number[][] {
  const vectors = data
    .toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0))
    .flatMap(({ embedding }) => (Array.isArray(embedding) && embedding.length > 0 ? [embedding] : []))
  if (vectors.length === count && vectors.every(({ length }) => length === vectors[0]?.length)) return vectors
  throw new ApiError({ status: 0, code: 'strange_answer', detail: text.embeddings.strangeAnswer })
}
