/** The headers of the tus protocol 1.0.0 (https://tus.io/protocols/resumable-upload). */

import { createHash } from 'node:crypto'
import type { Hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { ApplicationError } from '../../../base/errors.ts'

export const tusVersion = '1.0.0'
export const partType = 'application/offset+octet-stream'
export const tusExtensions = 'creation,termination,checksum,expiration'

const algorithms = ['sha1', 'sha256'] as const
export const checksumAlgorithms = algorithms.join(',')

/** What a client announces about a file. */
export interface AnnouncedFile {
  fileName: string
  bytes: number
  /** Of the whole file, in hexadecimal; null if the client sends none */
  sha256: string | null
}

/** The digest that the bytes of a part must have. */
export interface Checksum {
  algorithm: (typeof algorithms)[number]
  digest: Buffer
}

/** Throws `tus_version_not_supported` unless the request names the version of this server. */
export function requireTusVersion(headers: IncomingHttpHeaders): void {
  if (headers['tus-resumable'] === tusVersion) return
  const message = `Send Tus-Resumable: ${tusVersion}. Uploads need a client of the tus protocol.`
  throw new ApplicationError('tus_version_not_supported', message)
}

/** Reads `Upload-Length` and `Upload-Metadata`. Throws `malformed_request`. */
export function readAnnouncedFile(headers: IncomingHttpHeaders): AnnouncedFile {
  const metadata = readMetadata(header(headers, 'upload-metadata') ?? '')
  const sha256 = metadata.get('sha256')?.toLowerCase() ?? null
  if (sha256 !== null && !/^[0-9a-f]{64}$/.test(sha256)) {
    throw malformed('sha256 in Upload-Metadata must have 64 hexadecimal digits.')
  }
  const bytes = readCount(headers, 'upload-length')
  if (bytes === 0) throw malformed('Upload-Length must be at least 1.')
  return { fileName: toFileName(metadata.get('filename') ?? ''), bytes, sha256 }
}

/** Reads a header that counts bytes. Throws `malformed_request`. */
export function readCount(headers: IncomingHttpHeaders, name: 'upload-length' | 'upload-offset'): number {
  const value = header(headers, name) ?? ''
  const count = Number(value)
  if (/^\d{1,16}$/.test(value) && Number.isSafeInteger(count)) return count
  throw malformed(
    `${name === 'upload-length' ? 'Upload-Length' : 'Upload-Offset'} must be a number of bytes.`,
  )
}

/** Reads `Upload-Checksum`; null without one. Throws `malformed_request` for another algorithm. */
export function readChecksum(headers: IncomingHttpHeaders): Checksum | null {
  const value = header(headers, 'upload-checksum')
  if (value === null) return null
  const [name, digest = ''] = value.split(' ', 2)
  const algorithm = algorithms.find((each) => each === name)
  if (algorithm === undefined) {
    throw malformed(`Upload-Checksum must be one of ${algorithms.join(', ')} and the digest in base64.`)
  }
  return { algorithm, digest: Buffer.from(digest, 'base64') }
}

/** Starts the digest of a part; null for a part without a checksum. */
export function openDigest(checksum: Checksum | null): Hash | null {
  return checksum === null ? null : createHash(checksum.algorithm)
}

/** `Upload-Metadata` of an upload. */
export function writeMetadata(fileName: string): string {
  return `filename ${Buffer.from(fileName).toString('base64')}`
}

function readMetadata(value: string): Map<string, string> {
  const pairs = value.split(',').map((pair) => pair.trim().split(' '))
  return new Map(pairs.map(([key = '', text = '']) => [key, Buffer.from(text, 'base64').toString()]))
}

/** The last segment of a path, without characters that no text shows. */
function toFileName(given: string): string {
  const name = given.split(/[/\\]/).at(-1)!.replaceAll(/\p{C}/gu, '').trim()
  return name === '' ? 'model.gguf' : name.slice(-200).toWellFormed()
}

function header(headers: IncomingHttpHeaders, name: string): string | null {
  const value = headers[name]
  return typeof value === 'string' ? value : null
}

function malformed(message: string): ApplicationError {
  return new ApplicationError('malformed_request', message)
}
