import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { readingFields } from '../../../ports/runtime-engine.ts'
import { toTokenUsage } from './usage.ts'
import { readList, readObject, readOptionalCount, readText, refuseField } from './fields.ts'
import { modelField, modelOfResponse, openAiErrors } from './openai.ts'
import type { AnswerTranslation, JsonObject, MainProtocol, Protocol, Translation } from './protocol.ts'
import { InvalidResponse } from '../../../base/invalid-response.ts'

const rerankBody = z
  .looseObject({
    model: modelField,
    query: z.string().describe('What the documents should be relevant to'),
    documents: z
      .array(z.union([z.string(), z.looseObject({ text: z.string().describe('The text that is ranked') })]))
      .describe('The documents: texts, or objects with a `text`'),
    top_n: z.int().min(1).nullish().describe('Most results; all documents by default'),
    return_documents: z.boolean().nullish().describe('false to leave the documents out of the results'),
  })
  .meta({
    id: 'RerankRequest',
    description: 'As in the APIs of Jina and Cohere. Other fields are forwarded to the engine.',
    examples: [{ model: 'bge-reranker-v2-m3', query: 'a ship', documents: ['a harbor', 'a desert'] }],
  })

const rerankResponse = z
  .looseObject({
    id: z.string().describe('Id of the response'),
    model: modelOfResponse,
    results: z
      .array(
        z.object({
          index: z.int().describe('Position of the document in `documents`'),
          relevance_score: z
            .number()
            .describe('Higher is more relevant. Scores of different models or engines do not compare'),
          document: z
            .object({ text: z.string().describe('Its text') })
            .optional()
            .describe('The document, unless `return_documents` is false'),
        }),
      )
      .describe('The documents, the most relevant ones first'),
    usage: z
      .object({
        prompt_tokens: z.int().describe('Tokens of the query with each document'),
        total_tokens: z.int().describe('The same number'),
      })
      .nullable()
      .describe('Tokens that the request used; null if the engine does not tell'),
  })
  .meta({ id: 'Ranking', description: 'The documents by relevance' })

/** A translated request is at most 8 MiB long, and each document costs an evaluation. */
function readDocuments(value: unknown): string[] {
  const documents = readList(value, 'documents')
  if (documents.length === 0) throw refuseField('documents', 'must have at least one document.')
  return documents.map((document, index) => {
    const path = `documents.${index}`
    return typeof document === 'string'
      ? document
      : readText(readObject(document, path)['text'], `${path}.text`)
  })
}

interface Ranking {
  id?: unknown
  results?: unknown
  usage?: object | null
  meta?: { tokens?: object | null } | null
}

/** What the engines have in common: texts in, indexes and scores out. */
const ofEngine: Protocol = {
  path: '/v1/rerank',
  enginePath: '/v1/rerank',
  route: 'rerank',
  translations: [],
  description: {
    operationId: 'rerank',
    summary: 'Order documents by their relevance to a query',
    request: rerankBody,
    response: rerankResponse,
    events: null,
  },
  operation: 'rerank',
  modelTypes: ['rerank'],
  members: [],
  input: { member: 'documents', mayBeText: false },
  meaningfulFields: readingFields,
  edit: () => [],
  countedAt: null,
  bodies: {
    usageAt: ['usage'],
    otherUsageAt: ['meta', 'tokens'],
    readUsage: (usage) => toTokenUsage(countTokens(usage), 0),
    openRewriter: () => null,
  },
  events: null,
  errors: openAiErrors,
}

function countTokens(usage: JsonObject): unknown {
  return usage['prompt_tokens'] ?? usage['input_tokens'] ?? usage['total_tokens']
}

const asTexts: Translation = {
  via: ofEngine,
  translate(request) {
    const { return_documents: returns, top_n, rank_fields: fields, ...rest } = request
    if (fields !== undefined && fields !== null) {
      throw refuseField(
        'rank_fields',
        'is not supported. Send documents as texts, or as objects with a `text`.',
      )
    }
    const documents = readDocuments(request['documents'])
    const most = readOptionalCount(top_n, 'top_n')
    return {
      body: {
        ...rest,
        query: readText(request['query'], 'query'),
        documents,
        ...(most === undefined ? {} : { top_n: most }),
        return_documents: false,
        // Some engines count the tokens only if the request says so.
        return_len: true,
      },
      answers: translateRanking(request['model'], { documents, most, returns: returns !== false }),
    }
  },
}

function translateRanking(
  model: unknown,
  { documents, most, returns }: { documents: readonly string[]; most: number | undefined; returns: boolean },
): AnswerTranslation {
  return {
    toBody(answer) {
      const { id, results, usage, meta } = (answer ?? {}) as Ranking
      const ranked = readResults(results, documents, most).map(({ index, score, text }) => ({
        index,
        relevance_score: score,
        ...(returns ? { document: { text } } : {}),
      }))
      const tokens = countTokens((usage ?? meta?.tokens ?? {}) as JsonObject)
      return {
        id: typeof id === 'string' ? id : `rerank-${randomUUID()}`,
        model,
        results: ranked.toSorted((one, other) => other.relevance_score - one.relevance_score).slice(0, most),
        usage: typeof tokens === 'number' ? { prompt_tokens: tokens, total_tokens: tokens } : null,
      }
    },
    openEvents: null,
  }
}

/** Reads one result for each document, or for `most` of them. Throws if one is missing or makes no sense. */
function readResults(results: unknown, documents: readonly string[], most = documents.length) {
  if (!Array.isArray(results)) throw new InvalidResponse('no results')
  const expected = Math.min(most, documents.length)
  // Not every engine knows `top_n`.
  if (results.length !== expected && results.length !== documents.length) {
    throw new InvalidResponse(`${results.length} results where ${expected} belong`)
  }
  const indexes = new Set<number>()
  return results.map((result: JsonObject | null) => {
    const { index, relevance_score: score } = result ?? {}
    const text = typeof index === 'number' ? documents[index] : undefined
    if (typeof index !== 'number' || text === undefined) {
      throw new InvalidResponse('a result whose index belongs to no document')
    }
    if (indexes.has(index)) throw new InvalidResponse(`two results with the index ${index}`)
    indexes.add(index)
    if (!Number.isFinite(score)) throw new InvalidResponse('a score that is no number')
    return { index, score: Number(score), text }
  })
}

/** The common form of Jina's and Cohere's rankings. Engines take texts only, in other forms. */
export const rerank: MainProtocol = {
  ...ofEngine,
  alwaysTranslates: true,
  translations: [asTexts],
  modelKind: 'a reranking model',
  warmUp: { input: { query: 'Hello', documents: ['Hello'] }, results: 'results' },
}

/** `/v1/rerank` where clients of vLLM without `/v1` and of Cohere's second API send their requests */
export const rerankAliases: readonly Protocol[] = [
  aliasOf('/rerank', 'createRerankAtRoot', 'as in vLLM'),
  aliasOf('/v2/rerank', 'createRerankV2', 'as in Cohere’s second API'),
]

function aliasOf(path: string, operationId: string, note: string): Protocol {
  const { description } = rerank
  return {
    ...rerank,
    path,
    description: { ...description, operationId, summary: `${description.summary}, ${note}` },
  }
}
