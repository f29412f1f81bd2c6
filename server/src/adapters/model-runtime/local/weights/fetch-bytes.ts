import { addAbortSignal } from 'node:stream'
import type { Readable } from 'node:stream'
import { request } from 'undici'
import type { Dispatcher } from 'undici'
import { ApplicationError } from '../../../../base/errors.ts'
import { findShortage } from '../../../../base/local-shortage.ts'
import { resolveRedirect } from '../../../../base/resolve-redirect.ts'
import type { ModelStore } from '../../../../ports/model-store.ts'
import { DownloadError, RetryableError, describeCause } from './download-errors.ts'

/** A file to download. */
export interface DownloadSource {
  /** File name for messages */
  name: string
  url: string
  /** Expected SHA-256 in hex; null when unknown */
  sha256: string | null
  /** True if the file must be a GGUF file */
  isGguf: boolean
  /** The hub that serves the URL. Only its headers are trusted, and only it receives the token. */
  hub: { origin: string; token: string | null } | null
  /** Has the file under its SHA-256, and takes the place of the URL; default none */
  store?: Pick<ModelStore, 'measure' | 'read'>
}

/** An open response with the bytes of a file from `start` on. */
export interface ByteResponse {
  start: number
  total: number | null
  /** The file's version: the hub's checksum as `sha256:<hex>`, else `ETag`, else `Last-Modified` */
  validator: string | null
  body: Readable
}

type Headers = Dispatcher.ResponseData['headers']

export interface FetchOptions {
  dispatcher: Dispatcher
  signal: AbortSignal
  /** Default GET */
  method?: 'GET' | 'HEAD'
}

const maxRedirects = 10

/** The size of a file in bytes; null if the server doesn't say, or refuses HEAD. Throws only when aborted. */
export async function fetchSize(source: DownloadSource, options: FetchOptions): Promise<number | null> {
  try {
    if (source.store !== undefined) return await source.store.measure(source.sha256!)
    const { body, total } = await fetchBytes(source, 0, null, { ...options, method: 'HEAD' })
    discard(body)
    return total
  } catch {
    options.signal.throwIfAborted()
    return null
  }
}

/**
 * Requests a file from `offset` on (RFC 9110, section 14). Follows redirects without leaking the hub's token.
 * `validator` identifies the version of the bytes before `offset`. Throws DownloadError or RetryableError.
 */
export async function fetchBytes(
  source: DownloadSource,
  offset: number,
  validator: string | null,
  options: FetchOptions,
): Promise<ByteResponse> {
  if (source.store !== undefined) return readStored(source, source.store, offset, options)
  let url = new URL(source.url)
  const linked: { sha256: string | null; size: number | null } = { sha256: null, size: null }
  for (let hop = 0; hop <= maxRedirects; hop++) {
    const atHub = source.hub !== null && url.origin === source.hub.origin
    const response = await send(url, requestHeaders(source, atHub, offset, validator), options)
    if (atHub) {
      linked.sha256 ??= readSha256(header(response.headers, 'x-linked-etag'))
      linked.size ??= readInteger(header(response.headers, 'x-linked-size'))
    }
    if (response.statusCode === 200 || response.statusCode === 206) return readResponse(url, response, linked)
    await response.body.dump().catch(() => {})
    // The partial file is longer than the file on the server, so the file has changed.
    if (response.statusCode === 416 && offset > 0) return await fetchBytes(source, 0, null, options)
    const location = header(response.headers, 'location')
    if (response.statusCode < 300 || response.statusCode >= 400 || location === null) {
      throw toHttpError(url, response.statusCode, response.headers, atHub, source)
    }
    const next = resolveRedirect(url, location)
    if (next === null) {
      const message = `${url.host} redirected to an address that is not allowed: use https.`
      throw new DownloadError('download_failed', message)
    }
    url = next
  }
  throw new DownloadError('download_failed', `${url.host} redirected more than ${maxRedirects} times.`)
}

async function readStored(
  { name, sha256 }: DownloadSource,
  store: Pick<ModelStore, 'measure' | 'read'>,
  start: number,
  { signal }: FetchOptions,
): Promise<ByteResponse> {
  try {
    const total = await store.measure(sha256!)
    if (total === null)
      throw new DownloadError('model_not_found', `The store of uploaded models does not have ${name}.`)
    const body = addAbortSignal(signal, await store.read(sha256!, { start, end: total }))
    return { start, total, validator: `sha256:${sha256}`, body }
  } catch (error) {
    throw error instanceof ApplicationError ? new RetryableError(error.message) : error
  }
}

async function send(
  url: URL,
  headers: Record<string, string>,
  { dispatcher, signal, method = 'GET' }: FetchOptions,
): Promise<Dispatcher.ResponseData> {
  try {
    return await request(url, { dispatcher, signal, headers, method })
  } catch (error) {
    signal.throwIfAborted()
    if (findShortage(error) !== null) throw error
    throw new RetryableError(describeUnreachable(url, describeCause(error)))
  }
}

function describeUnreachable(url: URL, cause: string): string {
  if (/ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|ECONNREFUSED|ETIMEDOUT|CONNECT_TIMEOUT/.test(cause)) {
    return `Could not reach ${url.host} (${cause}). The operator can check the network or set a mirror.`
  }
  return `The connection to ${url.host} failed (${cause}).`
}

function requestHeaders(
  source: DownloadSource,
  atHub: boolean,
  offset: number,
  validator: string | null,
): Record<string, string> {
  const headers: Record<string, string> = { 'user-agent': 'berth', 'accept-encoding': 'identity' }
  if (atHub && source.hub !== null && source.hub.token !== null) {
    headers['authorization'] = `Bearer ${source.hub.token}`
  }
  if (offset > 0) {
    headers['range'] = `bytes=${offset}-`
    // If-Range only allows strong ETags (RFC 9110, 13.1.5). Others are compared with the response.
    if (validator !== null && validator.startsWith('"')) headers['if-range'] = validator
  }
  return headers
}

function readResponse(
  url: URL,
  response: Dispatcher.ResponseData,
  linked: { sha256: string | null; size: number | null },
): ByteResponse {
  const { headers, body } = response
  const range = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(header(headers, 'content-range') ?? '')
  const encoding = header(headers, 'content-encoding')
  const length = readInteger(header(headers, 'content-length'))
  const partial = response.statusCode === 206
  const total = partial ? readInteger(range?.[3] ?? null) : length
  const defect =
    partial && total === null
      ? 'sent part of the file without a valid Content-Range'
      : encoding !== null && encoding !== 'identity'
        ? `sent the file with the unsupported encoding ${encoding}`
        : linked.size !== null && total !== null && linked.size !== total
          ? `announced ${total} bytes instead of ${linked.size}`
          : null
  if (defect !== null) {
    discard(body)
    throw new DownloadError('download_failed', `${url.host} ${defect}.`)
  }
  const etag = header(headers, 'etag') ?? header(headers, 'last-modified')
  return {
    start: partial ? Number(range?.[1]) : 0,
    total: total ?? linked.size,
    validator: linked.sha256 === null ? etag : `sha256:${linked.sha256}`,
    body,
  }
}

function toHttpError(
  url: URL,
  status: number,
  headers: Headers,
  atHub: boolean,
  source: DownloadSource,
): DownloadError | RetryableError {
  const { name } = source
  const reason = header(headers, 'x-error-code')
  if (status === 404 || status === 410 || (atHub && reason?.endsWith('NotFound') === true)) {
    const hint = status === 401 ? ' If it is private, set HF_TOKEN.' : ''
    return new DownloadError(
      'model_not_found',
      `${name} was not found on ${url.host} (HTTP ${status}).${hint}`,
    )
  }
  if (status === 401 || status === 403) {
    const remedy = !atHub
      ? 'Check the URL in the catalog'
      : source.hub?.token === null
        ? "Accept the model's license on its page and set HF_TOKEN"
        : "Accept the model's license on its page with the account of HF_TOKEN, and check the token"
    return new DownloadError(
      'download_failed',
      `${url.host} denied access to ${name} (HTTP ${status}). ${remedy}.`,
    )
  }
  if (status === 408 || status === 425 || status === 429 || status >= 500) {
    return new RetryableError(
      `${url.host} is temporarily unable to serve ${name} (HTTP ${status}).`,
      readRetryAfter(header(headers, 'retry-after')),
    )
  }
  return new DownloadError('download_failed', `${url.host} returned HTTP ${status} for ${name}.`)
}

/** Closes a response without reading the rest. */
export function discard(body: ByteResponse['body']): void {
  body.on('error', () => {}).destroy()
}

/** Parses `Retry-After`, seconds or a date, into milliseconds (RFC 9110, section 10.2.3). */
function readRetryAfter(value: string | null): number | null {
  if (value === null) return null
  const seconds = readInteger(value)
  if (seconds !== null) return seconds * 1000
  const date = Date.parse(value)
  return Number.isNaN(date) ? null : Math.max(0, date - Date.now())
}

function readInteger(value: string | null): number | null {
  return value !== null && /^\d{1,15}$/.test(value) ? Number(value) : null
}

function readSha256(value: string | null): string | null {
  return /^"?([0-9a-f]{64})"?$/.exec(value ?? '')?.[1] ?? null
}

function header(headers: Headers, name: string): string | null {
  const value = headers[name]
  return (Array.isArray(value) ? value[0] : value) ?? null
}
