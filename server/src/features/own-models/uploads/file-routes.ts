import type { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { ApplicationError, NotFoundError } from '../../../base/errors.ts'
import { modelFilesRoute } from '../../../base/model-files.ts'
import type { App } from '../../../http/app.ts'
import { readByteRange } from '../../../http/byte-range.ts'
import type { ByteRange } from '../../../http/byte-range.ts'
import type { Services } from '../../../services.ts'
import { authorizeEngine } from './file-key.ts'

type Deps = Pick<Services, 'db' | 'modelStore' | 'secretKey' | 'log'>

const url = `${modelFilesRoute}/:file_name`
// Engines know the server by an address of their network.
const config = { anyHost: true }
const params = z.object({
  file_name: z.string().meta({
    description: 'SHA-256 of the file in hexadecimal, and `.gguf`',
    examples: [`${'0'.repeat(64)}.gguf`],
  }),
})

const fileBody = {
  description: 'The bytes of the file',
  content: {
    'application/octet-stream': { schema: z.string().meta({ contentMediaType: 'application/octet-stream' }) },
  },
} as unknown as z.ZodType<Readable>

/** Uploaded files for engines that share no disk with the server. */
export function modelFileRoutes(app: App, deps: Deps): void {
  app.head(
    url,
    { config, schema: { hide: true, params } },
    async ({ headers, params: { file_name } }, reply) => {
      const { size } = await findFile(deps, headers, file_name)
      return describeFile(reply, file_name).header('content-length', size).send(null)
    },
  )
  app.get(
    url,
    {
      config,
      schema: {
        operationId: 'downloadModelFile',
        summary: 'Download the uploaded file of a deployment',
        description:
          'For engines. Basic authentication takes the id of a deployment and its key for the file, which ends with the deployment. ' +
          'HEAD tells the size. One `Range` of bytes, also with `If-Range`, resumes a download with a 206.',
        tags: ['Catalog'],
        security: [{ engine: [] }],
        params,
        response: { 200: fileBody },
        responseHeaders: { ETag: 'The SHA-256 of the file', 'Accept-Ranges': '`bytes`' },
        errors: ['invalid_engine_key', 'not_found', 'range_not_satisfiable', 'model_store_unavailable'],
      },
    },
    async ({ headers, params: { file_name } }, reply) => {
      const { sha256, size } = await findFile(deps, headers, file_name)
      const range = readByteRange(headers, { size, entityTag: toEntityTag(file_name) })
      describeFile(reply, file_name)
      const part = describeRange(reply, range, size)
      const bytes = await deps.modelStore.read(sha256, part)
      return reply.header('content-length', part.end - part.start).send(bytes)
    },
  )
}

/** Throws `invalid_engine_key`, and `not_found` for another file than that of the deployment. */
async function findFile(
  deps: Deps,
  { authorization }: FastifyRequest['headers'],
  fileName: string,
): Promise<{ sha256: string; size: number }> {
  const sha256 = await authorizeEngine(deps, authorization)
  if (fileName !== `${sha256}.gguf`) throw new NotFoundError('The deployment has another file.')
  const size = await deps.modelStore.measure(sha256)
  if (size !== null) return { sha256, size }
  deps.log.error({ sha256 }, 'an uploaded file of a deployment is missing on this server')
  throw new NotFoundError(
    'This server does not have the file. All servers need the same folder of models, or MODEL_STORE_URL.',
  )
}

function toEntityTag(fileName: string): string {
  return `"${fileName.replace('.gguf', '')}"`
}

function describeFile(reply: FastifyReply, fileName: string): FastifyReply {
  return reply
    .type('application/octet-stream')
    .headers({ etag: toEntityTag(fileName), 'accept-ranges': 'bytes' })
}

/** Sets the status and `Content-Range`. Throws `range_not_satisfiable`. */
function describeRange(reply: FastifyReply, range: ByteRange, size: number): { start: number; end: number } {
  switch (range.kind) {
    case 'whole':
      return { start: 0, end: size }
    case 'unsatisfiable':
      reply.header('content-range', `bytes */${size}`)
      throw new ApplicationError('range_not_satisfiable', `The file has ${size} bytes.`)
    case 'part':
      reply.code(206).header('content-range', `bytes ${range.start}-${range.end - 1}/${size}`)
      return range
  }
}
