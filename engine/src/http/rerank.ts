import { setImmediate as nextTurn } from 'node:timers/promises'
import type { LlamaRankingContext, Token } from 'node-llama-cpp'
import { z } from 'zod'
import { invalid } from '../base/errors.ts'
import type { RequestError } from '../base/errors.ts'
import type { UsedTokens } from '../chat/answer.ts'
import { maxCharactersPerToken } from '../model/limits.ts'
import type { LoadedModel } from '../model/load-model.ts'
import { cutText, cutTokens, findCut, truncationFields } from './truncation.ts'

const maxDocuments = 2048
/** Documents that are tokenized before other requests proceed */
const tokenizedAtOnce = 16

/** The body of POST /v1/rerank. Unknown fields are dropped. */
export const rerankRequestBody = z.object({
  model: z.string(),
  query: z.string().min(1, 'must not be empty'),
  documents: z.array(z.string()).min(1).max(maxDocuments),
  top_n: z.int().min(1).nullish(),
  /** Tokens of a document, in Cohere's API; longer ones are cut */
  max_tokens_per_doc: z.int().min(1).nullish(),
  ...truncationFields,
})

export type RerankRequest = z.infer<typeof rerankRequestBody>

/** Relevance of each document (0 to 1), one by one. Counts in `used`. Rejects with an abort's reason. */
export async function computeScores(
  loaded: LoadedModel,
  request: RerankRequest,
  { used, signal }: { used: UsedTokens; signal: AbortSignal },
): Promise<number[]> {
  const { ranking, threads, embeddingContextSize: limit } = loaded
  if (ranking === null) throw invalid('model', 'This model ranks no documents.')
  const { query } = request
  if (readLength(ranking, { query, document: '', limit }) > limit) throw exceedsContext('query', limit)
  const cut = openCut(loaded, ranking, request)
  const documents: RankedText[] = []
  const lengths: number[] = []
  for (const [index, given] of request.documents.entries()) {
    if (index % tokenizedAtOnce === 0) await nextTurn()
    signal.throwIfAborted()
    const document = cut(given)
    documents.push(document)
    lengths.push(readLength(ranking, { query, document, limit }))
  }
  const tooLong = lengths.findIndex((length) => length > limit)
  if (tooLong !== -1) throw exceedsContext(`documents.${tooLong}`, limit)

  const scores: number[] = []
  for (const [index, document] of documents.entries()) {
    signal.throwIfAborted()
    threads.prepare(lengths[index]!)
    scores.push(await ranking.rank(query, document))
    used.promptTokens += lengths[index]!
  }
  return scores
}

type RankedText = string | Token[]

/** Returns what cuts a document as the request asks for. */
function openCut(
  loaded: LoadedModel,
  ranking: LlamaRankingContext,
  request: RerankRequest,
): (document: string) => RankedText {
  const cut = findCut(request, loaded)
  const { query, max_tokens_per_doc: most } = request
  if (cut === null && most == null) return (document) => document
  const { embeddingContextSize: limit } = loaded
  const ownLimit = Math.min(most ?? limit, limit)
  const tokenize = (text: string) => loaded.model.tokenize(text, false, 'trimLeadingSpace')
  const count = (tokens: Token[]) => ranking.calculateInputLength(query, tokens)
  return (document) => {
    const own = cutText(document, ownLimit, { tokenize, count: ({ length }) => length })
    return cut === null ? own : cutTokens(own, cut, count)
  }
}

/** The tokens of query and document, or a number above the limit if counting would block the engine. */
function readLength(
  ranking: LlamaRankingContext,
  { query, document, limit }: { query: string; document: RankedText; limit: number },
): number {
  const characters = query.length + document.length
  return characters > limit * maxCharactersPerToken
    ? characters
    : ranking.calculateInputLength(query, document)
}

function exceedsContext(param: string, limit: number): RequestError {
  const subject =
    param === 'query' ? 'query has more. Shorten it' : `query and ${param} have more. Shorten them`
  const message = `This model's maximum context length is ${limit} tokens, but ${subject}.`
  return invalid(param, message, 'context_length_exceeded')
}

/** The response with the most relevant documents first, in Jina's format. */
export function toRanking(
  scores: readonly number[],
  { promptTokens }: UsedTokens,
  { model, top_n: most }: RerankRequest,
) {
  const results = scores
    .map((score, index) => ({ index, relevance_score: score }))
    .toSorted((one, other) => other.relevance_score - one.relevance_score)
    .slice(0, most ?? undefined)
  return { model, results, usage: { prompt_tokens: promptTokens, total_tokens: promptTokens } }
}
