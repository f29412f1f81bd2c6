import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { DetailedError, Upload } from 'tus-js-client'
import type { CommandError } from '../base/errors.ts'
import { ConnectionError, toApiError } from './client.ts'
import type { Client } from './client.ts'

const path = '/api/v1/model-uploads'
/** So short that a proxy with a time limit passes it on */
const chunkBytes = 16 * 2 ** 20
/** Two minutes for a server that restarts. Each part that arrives resets them. */
const retryDelays = [250, 500, 1_000, 2_000, 4_000, ...Array.from({ length: 22 }, () => 5_000)]

export interface LocalFile {
  path: string
  name: string
  bytes: number
  sha256: string
}

/** Sends a file by tus, from where the upload `started` broke off, and resolves to the upload's id. */
export async function sendFile(
  client: Client,
  file: LocalFile,
  started: string | null,
  onProgress: (sent: number) => void,
): Promise<string> {
  try {
    return await send(client, file, started, onProgress)
  } catch (error) {
    throw await toFailure(error, client.url)
  }
}

function send(
  { url, cookie }: Client,
  file: LocalFile,
  started: string | null,
  onProgress: (sent: number) => void,
): Promise<string> {
  return new Promise((resolve, reject) => {
    // The library reopens the file for each part; the types are those of browsers.
    const stream: unknown = createReadStream(file.path)
    const upload = new Upload(stream as Buffer, {
      endpoint: url + path,
      uploadUrl: started === null ? null : `${url}${path}/${started}`,
      headers: { cookie: cookie ?? '', 'idempotency-key': randomUUID() },
      metadata: { filename: file.name, sha256: file.sha256 },
      uploadSize: file.bytes,
      chunkSize: chunkBytes,
      retryDelays,
      storeFingerprintForResuming: false,
      onShouldRetry: (error) => {
        const status = error.originalResponse?.getStatus() ?? 0
        return status === 0 || status === 409 || status === 423 || status >= 500
      },
      onProgress,
      onSuccess: () => resolve(upload.url!.split('/').at(-1)!),
      onError: reject,
    })
    upload.start()
  })
}

async function toFailure(error: unknown, url: string): Promise<CommandError> {
  const response = error instanceof DetailedError ? error.originalResponse : null
  const again = 'The same command resumes the upload.'
  if (response === null) return new ConnectionError(`The upload broke off: ${url} does not respond. ${again}`)
  return toApiError(new Response(response.getBody(), { status: response.getStatus() }), url)
}
