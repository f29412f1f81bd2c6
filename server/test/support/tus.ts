import { createHash } from 'node:crypto'
import { expect } from 'vitest'
import type { Answer, Client } from './client.ts'

export const uploadsPath = '/api/v1/model-uploads'
export const tusHeaders = { 'tus-resumable': '1.0.0' }

const encode = (text: string) => Buffer.from(text).toString('base64')

/** Announces a file. */
export function announceUpload(
  client: Client,
  bytes: number,
  metadata: Record<string, string> = { filename: 'tiny-Q8_0.gguf' },
): Promise<Answer> {
  const pairs = Object.entries(metadata).map(([key, value]) => `${key} ${encode(value)}`)
  return client.request('POST', uploadsPath, undefined, {
    ...tusHeaders,
    'upload-length': String(bytes),
    'upload-metadata': pairs.join(','),
  })
}

/** Announces a file that the server accepts, and resolves to the path of its upload. */
export async function startUpload(
  client: Client,
  bytes: number,
  metadata?: Record<string, string>,
): Promise<string> {
  const { status, headers, body } = await announceUpload(client, bytes, metadata)
  expect(status, JSON.stringify(body)).toBe(201)
  return headers.get('location')!
}

/** Sends bytes of a file. */
export function sendPart(
  client: Client,
  location: string,
  offset: number,
  bytes: Uint8Array,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return client.request('PATCH', location, bytes, {
    ...tusHeaders,
    'content-type': 'application/offset+octet-stream',
    'upload-offset': String(offset),
    ...headers,
  })
}

/** Uploads a whole file and resolves to the id of its upload. */
export async function uploadFile(
  client: Client,
  bytes: Uint8Array,
  metadata?: Record<string, string>,
): Promise<string> {
  const location = await startUpload(client, bytes.length, metadata)
  const { status, body } = await sendPart(client, location, 0, bytes)
  expect(status, JSON.stringify(body)).toBe(204)
  return location.split('/').at(-1)!
}

/** Asks how many bytes of a file have arrived; null if the upload does not exist. */
export async function readOffset(client: Client, location: string): Promise<number | null> {
  const { status, headers } = await client.request('HEAD', location, undefined, tusHeaders)
  return status === 200 ? Number(headers.get('upload-offset')) : null
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
