import type { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApplicationError } from '../../../base/errors.ts'
import type { App } from '../../../http/app.ts'
import { joinResponse } from '../../../http/creation.ts'
import { noContent } from '../../../http/openapi/responses.ts'
import { isPlain } from '../../../http/unpack-body.ts'
import type { Services } from '../../../services.ts'
import { listUploads } from './list-uploads.ts'
import { receivePart } from './receive-part.ts'
import { removeUpload } from './remove-upload.ts'
import { startUpload } from './start-upload.ts'
import { toUploadBody, uploadParams, uploadsBody } from './schemas.ts'
import { createFolderSweeps } from './sweep-parts.ts'
import {
  checksumAlgorithms,
  partType,
  readAnnouncedFile,
  readChecksum,
  readCount,
  requireTusVersion,
  tusExtensions,
  tusVersion,
  writeMetadata,
} from './tus.ts'
import { UploadRequests } from './upload-requests.ts'
import { findUpload } from './write-lease.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'log' | 'runtimes' | 'fileHasher' | 'modelStore'>

const tags = ['Catalog']
const prefix = '/api/v1/model-uploads'
const manage = { permission: 'manageModels' } as const
/** A client may need this long to read a refusal while it still sends. */
const lingerMilliseconds = 5_000

/** Of the routes of the protocol */
const onRequest = async ({ headers }: FastifyRequest) => requireTusVersion(headers)

/** Offsets count bytes of the file, so a part has no coding. */
function requirePlainPart({ headers }: FastifyRequest, reply: FastifyReply): void {
  if (isPlain(headers['content-encoding'])) return
  reply.header('accept-encoding', 'identity')
  throw new ApplicationError('unsupported_encoding', 'Send the bytes of the file without Content-Encoding.')
}

/** Uploads with the tus protocol 1.0.0. The scope accepts bodies of any length, but no JSON. */
export function uploadRoutes(app: App, deps: Deps): void {
  const requests = new UploadRequests()
  if (deps.config.uploads.store !== null) {
    const sweeps = createFolderSweeps(deps)
    app.addHook('onListen', async () => sweeps.start())
    app.addHook('onClose', async () => sweeps.stop())
  }
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(partType, (_request, payload, done) => done(null, payload))
  app.addHook('onRequest', async (_request, reply) => {
    reply.headers({ 'tus-resumable': tusVersion, 'tus-version': tusVersion })
  })

  app.get(
    prefix,
    {
      config: manage,
      schema: {
        operationId: 'listModelUploads',
        summary: 'List the uploads of your organization that are no model yet',
        tags,
        response: { 200: uploadsBody },
      },
    },
    async ({ viewer }) => (await listUploads(deps, viewer.organizationId)).map(toUploadBody),
  )

  // What this server can do, as the protocol has it. Clients may ask.
  app.options(prefix, { config: manage, schema: { hide: true } }, async (_request, reply) =>
    reply
      .headers({
        'tus-extension': tusExtensions,
        'tus-max-size': deps.config.uploads.maxBytes,
        'tus-checksum-algorithm': checksumAlgorithms,
      })
      .code(204)
      .send(null),
  )

  app.post(
    prefix,
    {
      onRequest,
      config: { ...manage, creates: 'atomically' },
      schema: {
        operationId: 'startModelUpload',
        summary: 'Start to upload a GGUF file',
        description:
          'The creation extension of the tus protocol 1.0.0: `Upload-Length` has the size, `Upload-Metadata` the `filename` and, if ' +
          'the client knows it, the `sha256` of the file in hexadecimal. Any tus client works, such as tus-js-client. HEAD on the ' +
          '`Location` tells how many bytes have arrived.',
        tags,
        response: { 201: noContent },
        responseHeaders: {
          Location: 'Where the bytes of the file go',
          'Upload-Expires': 'When the upload is removed unless bytes arrive',
        },
        errors: [
          'tus_version_not_supported',
          'uploads_disabled',
          'uploads_not_supported',
          'upload_too_large',
          'upload_quota_exceeded',
        ],
      },
    },
    async (request, reply) => {
      const { headers, viewer } = request
      const upload = await startUpload(joinResponse(deps, request), viewer, readAnnouncedFile(headers))
      return reply
        .headers({ location: `${prefix}/${upload.id}`, 'upload-expires': upload.expires_at.toUTCString() })
        .code(201)
        .send(null)
    },
  )

  app.head(
    `${prefix}/:upload_id`,
    { onRequest, config: manage, schema: { hide: true, params: uploadParams } },
    async ({ params, viewer }, reply) => {
      const upload = await findUpload(deps, viewer.organizationId, params.upload_id)
      return reply
        .headers({
          'cache-control': 'no-store',
          'upload-offset': upload.received,
          'upload-length': upload.bytes,
          'upload-metadata': writeMetadata(upload.file_name),
          'upload-expires': upload.expires_at.toUTCString(),
        })
        .send(null)
    },
  )

  app.patch(
    `${prefix}/:upload_id`,
    {
      onRequest,
      config: { ...manage, readsRawBody: true, takesLongBodies: true },
      schema: {
        operationId: 'sendModelUpload',
        summary: 'Send bytes of a file',
        description:
          `The body has the type \`${partType}\` and starts at \`Upload-Offset\`. With \`Upload-Checksum\`, bytes count only if they ` +
          'have this digest. The header of the file is checked as soon as it has arrived: a file that no engine can load is refused, ' +
          'and its upload removed.',
        tags,
        params: uploadParams,
        response: { 204: noContent },
        responseHeaders: { 'Upload-Offset': 'How many bytes have arrived' },
        errors: [
          'not_found',
          'uploads_disabled',
          'tus_version_not_supported',
          'upload_offset_mismatch',
          'upload_elsewhere',
          'upload_locked',
          'checksum_mismatch',
          'not_gguf',
          'unsupported_architecture',
          'no_runnable_weights',
          'model_store_unavailable',
        ],
      },
    },
    async (request, reply) => {
      const { headers, params, viewer, body } = request
      closeUnreadBody(request, reply)
      requirePlainPart(request, reply)
      const { id } = await findUpload(deps, viewer.organizationId, params.upload_id)
      if (body === undefined) {
        throw new ApplicationError('unsupported_media_type', `The body must have the type ${partType}.`)
      }
      const part = {
        offset: readCount(headers, 'upload-offset'),
        checksum: readChecksum(headers),
        // Without a length, the body may have any.
        length: Number(headers['content-length'] ?? 0),
        body: body as Readable,
      }
      const offset = await requests.run(id, (stop) =>
        receivePart(deps, viewer, id, part, AbortSignal.any([stop, app.draining])),
      )
      return reply.header('upload-offset', offset).code(204).send(null)
    },
  )

  app.delete(
    `${prefix}/:upload_id`,
    {
      onRequest,
      config: manage,
      schema: {
        operationId: 'deleteModelUpload',
        summary: 'Delete an upload with its file',
        description: 'The termination extension of the tus protocol.',
        tags,
        params: uploadParams,
        response: { 204: noContent },
        errors: ['not_found', 'tus_version_not_supported'],
      },
    },
    async ({ params, viewer }, reply) => {
      const { id } = await findUpload(deps, viewer.organizationId, params.upload_id)
      await requests.stop(id)
      await removeUpload(deps, viewer, id)
      return reply.code(204).send(null)
    },
  )
}

/** Disconnects a client that goes on sending after the response, which would otherwise be read to its end. */
function closeUnreadBody({ raw }: FastifyRequest, reply: FastifyReply): void {
  reply.raw.once('finish', () => {
    setTimeout(() => {
      if (!raw.complete) raw.destroy()
    }, lingerMilliseconds).unref()
  })
}
