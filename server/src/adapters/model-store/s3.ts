import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { Readable } from 'node:stream'
import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3ServiceException,
  S3Client,
} from '@aws-sdk/client-s3'
import type { ListMultipartUploadsCommandOutput } from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { ApplicationError } from '../../base/errors.ts'
import { findShortage, overloaded } from '../../base/local-shortage.ts'
import { nameModelFile, readModelFileName } from '../../base/model-files.ts'
import { proxyAgentOptions } from '../../base/proxy.ts'
import type { ProxySettings } from '../../config/proxy.ts'
import type { ModelStore } from '../../ports/model-store.ts'

/** A request without a body may take this long, with its retries. */
const requestMilliseconds = 20_000
const leastPartBytes = 8 * 2 ** 20
/** Of the 10,000 that a multipart upload may have */
const mostParts = 9_000
/** No file takes this long to store. */
const abandonedMilliseconds = 24 * 3_600_000

const connectionTimeout = 5_000
/** A connection that carries no bytes for this long is lost. */
const socketTimeout = 60_000
const maxSockets = 64

/** Keeps uploaded model files in an S3 bucket that servers without a shared disk use together. */
export function createS3Store(settings: S3StoreSettings): ModelStore {
  const { bucket: Bucket, prefix: Prefix, clock } = settings
  const client = openClient(settings)
  const keyOf = (sha256: string) => ({ Bucket, Key: `${Prefix}${nameModelFile(sha256)}` })

  /** Sends requests that must all end within `requestMilliseconds`. */
  async function ask<Value>(what: string, send: (signal: AbortSignal) => Promise<Value>): Promise<Value> {
    const deadline = new AbortController()
    const timer = setTimeout(() => deadline.abort(), requestMilliseconds)
    try {
      return await send(deadline.signal)
    } catch (error) {
      const cause = deadline.signal.aborted
        ? new Error(`no answer within ${requestMilliseconds / 1000} seconds`)
        : error
      throw toUnavailable(settings, what, cause)
    } finally {
      clearTimeout(timer)
    }
  }

  async function measure(sha256: string): Promise<number | null> {
    return ask('look for a file', async (abortSignal) => {
      try {
        const { ContentLength } = await client.send(new HeadObjectCommand(keyOf(sha256)), { abortSignal })
        return ContentLength ?? 0
      } catch (error) {
        if (error instanceof S3ServiceException && error.$metadata.httpStatusCode === 404) return null
        throw error
      }
    })
  }

  return {
    measure,
    async read(sha256, { start, end }) {
      const Range = `bytes=${start}-${end - 1}`
      const command = new GetObjectCommand({ ...keyOf(sha256), Range })
      const { Body } = await ask('read a file', (abortSignal) => client.send(command, { abortSignal }))
      if (!(Body instanceof Readable)) throw new TypeError('The client of the store gave no stream.')
      return Readable.from(relay(settings, Body), { objectMode: false })
    },
    async put(sha256, path, signal) {
      const { size } = await stat(path)
      try {
        await send(client, { ...keyOf(sha256), path, size }, signal)
      } catch (error) {
        signal.throwIfAborted()
        throw toUnavailable(settings, 'store a file', error)
      }
      if ((await measure(sha256)) === size) return
      throw toUnavailable(settings, 'store a file', new Error('the stored file has another size'))
    },
    async remove(sha256) {
      const command = new DeleteObjectCommand(keyOf(sha256))
      await ask('remove a file', (abortSignal) => client.send(command, { abortSignal }))
    },
    async list() {
      const found: string[] = []
      let ContinuationToken: string | undefined
      do {
        const command = new ListObjectsV2Command({ Bucket, Prefix, ContinuationToken })
        const page = await ask('list files', (abortSignal) => client.send(command, { abortSignal }))
        for (const { Key = '' } of page.Contents ?? []) {
          const sha256 = readModelFileName(Key.slice(Prefix.length))
          if (sha256 !== null) found.push(sha256)
        }
        ContinuationToken = page.NextContinuationToken
      } while (ContinuationToken !== undefined)
      return found
    },
    async tidy(signal) {
      const before = clock().getTime() - abandonedMilliseconds
      const what = 'end abandoned multipart uploads'
      let page: ListMultipartUploadsCommandOutput | undefined
      do {
        const list = new ListMultipartUploadsCommand({
          Bucket,
          Prefix,
          KeyMarker: page?.NextKeyMarker,
          UploadIdMarker: page?.NextUploadIdMarker,
        })
        page = await ask(what, (abortSignal) => client.send(list, { abortSignal }))
        for (const { Key, UploadId, Initiated } of page.Uploads ?? []) {
          if (Initiated === undefined || Initiated.getTime() > before) continue
          const abort = new AbortMultipartUploadCommand({ Bucket, Key, UploadId })
          await ask(what, (abortSignal) => client.send(abort, { abortSignal }))
        }
      } while (page.IsTruncated === true && !signal.aborted)
    },
    async check() {
      const probe = { Bucket, Key: `${Prefix}write-check-${randomUUID()}` }
      const storeProbe = async (abortSignal: AbortSignal) => {
        await client.send(new PutObjectCommand({ ...probe, Body: 'Berth can write here.\n' }), {
          abortSignal,
        })
        await client.send(new DeleteObjectCommand(probe), { abortSignal })
      }
      await ask('store a file', storeProbe).catch(() => {})
    },
    close: () => client.destroy(),
  }
}

/** Credentials come from the standard places: the environment, files, or the machine. */
interface S3StoreSettings {
  bucket: string
  /** What the names of all objects begin with; empty for none */
  prefix: string
  /** null for Amazon's */
  endpoint: string | null
  /** null for that of the environment */
  region: string | null
  proxy: ProxySettings
  clock: () => Date
  logger: { warn(details: object, message: string): void }
}

/** Opens a client that works with stores that know no checksums of Amazon's newer kinds. */
function openClient({ endpoint, region, proxy }: S3StoreSettings): S3Client {
  const agent = { ...proxyAgentOptions(proxy), maxSockets }
  return new S3Client({
    ...(endpoint === null ? {} : { endpoint, forcePathStyle: true, region: 'us-east-1' }),
    ...(region === null ? {} : { region }),
    maxAttempts: 3,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout,
      socketTimeout,
      httpAgent: new HttpAgent(agent),
      httpsAgent: new HttpsAgent(agent),
    },
  })
}

/** Stores a file in parts, which an interruption removes again. */
async function send(
  client: S3Client,
  { path, size, ...key }: { Bucket: string; Key: string; path: string; size: number },
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted()
  const partSize = Math.max(leastPartBytes, Math.ceil(size / mostParts))
  // The upload also gets the error. Without a listener, a later error would end the process.
  const Body = createReadStream(path).on('error', () => {})
  const upload = new Upload({ client, partSize, params: { ...key, Body } })
  const stop = () => void upload.abort()
  signal.addEventListener('abort', stop, { once: true })
  try {
    await upload.done()
  } finally {
    signal.removeEventListener('abort', stop)
    Body.destroy()
  }
}

async function* relay(settings: S3StoreSettings, body: Readable): AsyncIterable<Uint8Array> {
  try {
    yield* body
  } catch (error) {
    throw toUnavailable(settings, 'read a file', error)
  }
}

/** Logs a failure and returns the error for callers. Only its text counts: the object can contain keys. */
function toUnavailable(
  { bucket, endpoint, logger }: S3StoreSettings,
  what: string,
  error: unknown,
): ApplicationError {
  const shortage = findShortage(error)
  if (shortage !== null) return overloaded(shortage)
  const { name, message, code } = error as Error & { code?: string }
  const reason = [...new Set([code ?? name, message])].filter((part) => part !== 'Error').join(': ')
  const store = `the bucket ${bucket}${endpoint === null ? '' : ` at ${endpoint}`}`
  logger.warn(
    { bucket, endpoint, reason },
    `MODEL_STORE_URL: Berth can't ${what} in ${store} (${reason}); check the setting, the credentials, the rights of their owner and the network`,
  )
  const text =
    'The store of uploaded models does not answer or refuses the server. Nothing is lost; try again later.'
  return new ApplicationError('model_store_unavailable', text, 30)
}
