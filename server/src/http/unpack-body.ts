import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
} from 'node:zlib'
import type { FastifyRequest } from 'fastify'
import { ApplicationError } from '../base/errors.ts'
import { bodyTooLarge } from './body-too-large.ts'

const chunkSize = 64 * 1024
/** The largest window of zstd in HTTP is 8 MiB (RFC 9659). */
const zstdWindowLog = 23

const decoders = {
  gzip: () => createGunzip({ chunkSize }),
  deflate: () => createInflate({ chunkSize }),
  br: () => createBrotliDecompress({ chunkSize }),
  zstd: () => createZstdDecompress({ chunkSize, params: { [constants.ZSTD_d_windowLogMax]: zstdWindowLog } }),
}

/** A content coding of RFC 9110 */
export type Coding = keyof typeof decoders

/** The value of `Accept-Encoding` in the response to a body with another coding */
export const acceptedCodings = Object.keys(decoders).join(', ')

/** True if a `Content-Encoding` header names no coding. */
export function isPlain(header: string | undefined): boolean {
  return ['', 'identity'].includes((header ?? '').trim().toLowerCase())
}

/** Reads a `Content-Encoding` header; null for a plain body. Throws a 415 for several or other codings. */
export function readCoding(header: string | undefined): Coding | null {
  if (isPlain(header)) return null
  const named = header!.trim().toLowerCase()
  const coding = named === 'x-gzip' ? 'gzip' : named
  if (Object.hasOwn(decoders, coding)) return coding as Coding
  const message = `The request body may be plain, or have one Content-Encoding of ${acceptedCodings}.`
  throw new ApplicationError('unsupported_encoding', message)
}

/** Unpacks the body of a request whose route has this limit. Throws like `readCoding` and `unpackBody`. */
export async function unpackRequest(
  { headers, routeOptions }: Pick<FastifyRequest, 'headers' | 'routeOptions'>,
  body: Buffer,
): Promise<Buffer> {
  const coding = body.length === 0 ? null : readCoding(headers['content-encoding'])
  return coding === null ? body : unpackBody(body, coding, routeOptions.bodyLimit)
}

/**
 * Unpacks a body of one member. Stops with a 413 beyond `limit` bytes, and with what `onBytes` throws, which
 * is called before bytes are kept. Throws a 400 for a damaged body.
 */
export async function unpackBody(
  packed: Buffer,
  coding: Coding,
  limit: number,
  onBytes: (bytes: number) => void = () => {},
): Promise<Buffer> {
  const decoder = decoders[coding]()
  const chunks: Buffer[] = []
  let size = 0
  decoder.end(packed)
  try {
    for await (const chunk of decoder as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > limit) throw bodyTooLarge(limit)
      onBytes(chunk.length)
      chunks.push(chunk)
    }
  } catch (error) {
    throw error instanceof ApplicationError ? error : damaged(coding)
  }
  // Node joins the members of gzip; the last four bytes have the size of the last one.
  const isWhole = coding !== 'gzip' || packed.readUInt32LE(packed.length - 4) === size
  if (!isWhole || decoder.bytesWritten !== packed.length) throw damaged(coding)
  return Buffer.concat(chunks, size)
}

function damaged(coding: Coding): ApplicationError {
  return new ApplicationError('malformed_json', `The request body is not valid ${coding} with one member.`)
}
