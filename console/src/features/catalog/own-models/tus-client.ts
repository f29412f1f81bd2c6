import { DetailedError, Upload } from 'tus-js-client'
import type { Problem } from '../../../contract.ts'
import { ApiError } from '../../../api/client.ts'
import { createKey } from '../../../api/fetch-once.ts'
import { text } from '../../../text/index.ts'

const path = '/api/v1/model-uploads'
/** So short that a proxy with a time limit passes it on, and that a refusal is read soon */
const chunkBytes = 16 * 1024 * 1024
const retryDelays = [0, 1_000, 2_000, 5_000, 10_000, 10_000, 10_000]

export interface UploadListener {
  onProgress: (sent: number) => void
  /** The server did not answer. The client asks again. */
  onRetry: () => void
  onDone: (id: string) => void
  onError: (error: Error) => void
}

/** Prepares the upload of a file. `id` names an upload that goes on, if any. */
export function createUpload(file: File, id: string | null, listener: UploadListener): Upload {
  const upload: Upload = new Upload(file, {
    endpoint: toAddress(path),
    uploadUrl: id === null ? null : toAddress(`${path}/${id}`),
    metadata: { filename: file.name },
    headers: { 'idempotency-key': createKey() },
    chunkSize: chunkBytes,
    retryDelays,
    // The server lists the uploads that can go on.
    storeFingerprintForResuming: false,
    onShouldRetry: (error) => {
      if (!navigator.onLine) return false
      const status = error instanceof DetailedError ? (error.originalResponse?.getStatus() ?? 0) : 0
      const isRetried = status === 0 || status === 409 || status === 423 || status >= 500
      if (isRetried) listener.onRetry()
      return isRetried
    },
    onProgress: listener.onProgress,
    onSuccess: () => listener.onDone(upload.url!.split('/').at(-1)!),
    onError: (error) => listener.onError(toApiError(error)),
  })
  return upload
}

/** Deletes an upload with what has arrived of its file. Rejects with ApiError. */
export async function deleteUpload(id: string): Promise<void> {
  try {
    await Upload.terminate(toAddress(`${path}/${id}`))
  } catch (error) {
    throw toApiError(error as Error)
  }
}

function toAddress(of: string): string {
  return new URL(of, window.location.origin).href
}

function toApiError(error: Error | DetailedError): ApiError {
  const response = error instanceof DetailedError ? error.originalResponse : null
  const status = response?.getStatus() ?? 0
  if (response === null || response === undefined || status === 0) {
    return new ApiError({ status: 0, code: 'offline', detail: text.ownModels.uploadBroken })
  }
  const problem = readProblem(response.getBody())
  return new ApiError({
    status,
    code: problem?.code ?? 'unknown',
    detail: problem?.detail ?? text.errors.unexpected(status),
    requestId: problem?.request_id ?? null,
  })
}

function readProblem(body: string): Problem | null {
  try {
    return JSON.parse(body) as Problem
  } catch {
    return null
  }
}
