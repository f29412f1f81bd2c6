import { z } from 'zod'
import { readingFields } from '../../../ports/runtime-engine.ts'
import { EmbeddingEncoder } from './base64-embeddings.ts'
import { EmbeddingCheck } from './embedding-check.ts'
import {
  forwardedFields,
  modelField,
  modelOfResponse,
  openAiErrors,
  readOpenAiUsage,
  responseOfEngine,
  usageBody,
} from './openai.ts'
import type { MainProtocol } from './protocol.ts'

const embeddingsBody = z
  .looseObject({
    model: modelField,
    input: z
      .unknown()
      .describe(
        'A text, or a list of texts. Token ids are refused, because they may be those of another tokenizer',
      ),
    encoding_format: z.enum(['float', 'base64']).optional().describe('`float` by default'),
  })
  .meta({
    id: 'EmbeddingsRequest',
    description: forwardedFields,
    examples: [{ model: 'berth-tiny-embedding', input: ['a ship', 'a harbor'] }],
  })

const embeddingsResponse = z
  .looseObject({
    object: z.literal('list').describe('Always `list`'),
    model: modelOfResponse,
    data: z
      .array(
        z.looseObject({
          object: z.literal('embedding').describe('Always `embedding`'),
          index: z.int().describe('Position of the text in `input`'),
          embedding: z
            .union([z.array(z.number()), z.string()])
            .describe('The vector, or its bytes as 32-bit floats in Base64'),
        }),
      )
      .describe('One embedding for each text'),
    usage: usageBody.describe('Tokens that the request used'),
  })
  .meta({ id: 'Embeddings', description: responseOfEngine })

/** OpenAI's embeddings. Berth encodes them in base64 for engines that can't. */
export const embeddings: MainProtocol = {
  path: '/v1/embeddings',
  enginePath: '/v1/embeddings',
  route: null,
  translations: [],
  description: {
    operationId: 'createEmbeddings',
    summary: 'Embed texts with a deployed model',
    request: embeddingsBody,
    response: embeddingsResponse,
    events: null,
  },
  operation: 'embeddings',
  modelTypes: ['embedding'],
  members: ['encoding_format'],
  meaningfulFields: readingFields,
  texts: 'input',
  input: { member: 'input', mayBeText: true },
  edit: () => [],
  countedAt: null,
  bodies: {
    usageAt: ['usage'],
    readUsage: readOpenAiUsage,
    openCheck: ({ input }) => new EmbeddingCheck(typeof input === 'number' ? input : null),
    openRewriter: ({ encoding_format }) => (encoding_format === 'base64' ? new EmbeddingEncoder() : null),
  },
  events: null,
  errors: openAiErrors,
  modelKind: 'an embedding model',
  warmUp: { input: { input: 'Hello' }, results: 'data' },
}
