import { request, type Dispatcher } from 'undici'
import { DownloadError, PassingFault, describeCause } from './download-errors.ts'

/** One file to fetch. */
export interface DownloadSource {
  /** The file's name for people */
  name: string
  url: string
  /** Hex SHA-256 of the file where it is known beforehand */
  sha256: string | null
  /** The hub that the URL belongs to: its headers are believed, and it alone gets the token */
  hub: { origin: string; token: string | null } | null
}

/** An open answer with the bytes of a file from `start` on. */
export interface ByteAnswer {
  start: number
  total: number | null
  /** The file's identity: the hub's checksum as `sha256:<hex>`, else the ETag, else the date of its last change */
  validator: string | null
  body: Dispatcher.ResponseData['body']
}

type Headers = Dispatcher.ResponseData['headers']

const MOST_REDIRECTS = 10

/**
 * Asks for a file from `offset` on (RFC 9110, section 14), following redirects without giving the hub's token away.
 * `validator` is what the bytes before `offset` belong to. Throws DownloadError or PassingFault.
 */
export async function fetchBytes(
  source: DownloadSource,
  offset: number,
  validator: string | null,
  options: { dispatcher: Dispatcher; signal: AbortSignal },
): Promise<ByteAnswer> {
  let url = new URL(source.url)
  const linked: { sha256: string | null; size: number | null } = { sha256: null, size: null }
  for (let hop = 0; hop <= MOST_REDIRECTS; hop++) {
    const atHub = source.hub !== null && url.origin === source.hub.origin
    const answer = await send(url, requestHeaders(source, atHub, offset, validator), options)
    if (atHub) {
      linked.sha256 ??= readSha256(header(answer.headers, 'x-linked-etag'))
      linked.size ??= readInteger(header(answer.headers, 'x-linked-size'))
    }
    if (answer.statusCode === 200 || answer.statusCode === 206) return readAnswer(url, answer, linked)
    await answer.body.dump().catch(() => {})
    // What is here is longer than the file there: another file.
    if (answer.statusCode === 416 && offset > 0) return await fetchBytes(source, 0, null, options)
    const location = header(answer.headers, 'location')
    if (answer.statusCode < 300 || answer.statusCode >= 400 || location === null) {
      throw refuse(url, answer.statusCode, answer.headers, atHub, source)
    }
    url = resolveRedirect(url, location)
  }
  throw new DownloadError('download_failed', `${url.host} redirects in a circle.`)
}

async function send(
  url: URL,
  headers: Record<string, string>,
  { dispatcher, signal }: { dispatcher: Dispatcher; signal: AbortSignal },
): Promise<Dispatcher.ResponseData> {
  try {
    return await request(url, { dispatcher, signal, headers })
  } catch (error) {
    signal.throwIfAborted()
    throw new PassingFault(describeUnreachable(url, describeCause(error)))
  }
}

function describeUnreachable(url: URL, cause: string): string {
  if (/ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|ECONNREFUSED|ETIMEDOUT|CONNECT_TIMEOUT/.test(cause)) {
    const remedy =
      'put the file on this host and name its path in the catalog, or set HF_ENDPOINT to a mirror'
    return `Could not reach ${url.host} (no network, DNS or server: ${cause}); ${remedy}.`
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
    // Only a strong ETag may stand here (RFC 9110, section 13.1.5); other validators are compared in the answer.
    if (validator !== null && validator.startsWith('"')) headers['if-range'] = validator
  }
  return headers
}

/** The next address of a redirect. What came over TLS is never followed to an address without. */
export function resolveRedirect(from: URL, location: string): URL {
  const to = URL.parse(location, from.href)
  if (to === null || (to.protocol !== 'https:' && to.protocol !== 'http:')) {
    throw new DownloadError('download_failed', `${from.host} redirects to an address that is no web address.`)
  }
  if (from.protocol === 'https:' && to.protocol === 'http:') {
    throw new DownloadError(
      'download_failed',
      `${from.host} redirects from https to http (${to.host}), which is refused.`,
    )
  }
  return to
}

function readAnswer(
  url: URL,
  answer: Dispatcher.ResponseData,
  linked: { sha256: string | null; size: number | null },
): ByteAnswer {
  const { headers, body } = answer
  const range = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(header(headers, 'content-range') ?? '')
  const encoding = header(headers, 'content-encoding')
  const length = readInteger(header(headers, 'content-length'))
  const partial = answer.statusCode === 206
  const total = partial ? readInteger(range?.[3] ?? null) : length
  const fault =
    partial && total === null
      ? 'answered a part of the file without saying which'
      : encoding !== null && encoding !== 'identity'
        ? `sends the file encoded as ${encoding}`
        : linked.size !== null && total !== null && linked.size !== total
          ? `has ${total} bytes of the file instead of ${linked.size}`
          : null
  if (fault !== null) {
    discard(body)
    throw new DownloadError('download_failed', `${url.host} ${fault}.`)
  }
  const etag = header(headers, 'etag') ?? header(headers, 'last-modified')
  return {
    start: partial ? Number(range?.[1]) : 0,
    total: total ?? linked.size,
    validator: linked.sha256 === null ? etag : `sha256:${linked.sha256}`,
    body,
  }
}

function refuse(
  url: URL,
  status: number,
  headers: Headers,
  atHub: boolean,
  source: DownloadSource,
): DownloadError | PassingFault {
  const { name } = source
  const reason = header(headers, 'x-error-code')
  if (status === 404 || status === 410 || (atHub && reason?.endsWith('NotFound') === true)) {
    const hidden = status === 401 ? ', or it is private and HF_TOKEN must be set' : ''
    return new DownloadError('model_not_found', `${url.host} has no ${name} (HTTP ${status})${hidden}.`)
  }
  if (status === 401 || status === 403) {
    const remedy = !atHub
      ? "check the model's address in the catalog"
      : source.hub?.token === null
        ? "accept the model's license on its page there and set HF_TOKEN"
        : "accept the model's license on its page there with the account of HF_TOKEN, and check the token"
    return new DownloadError(
      'download_failed',
      `${url.host} refused access to ${name} (HTTP ${status}): ${remedy}.`,
    )
  }
  if (status === 408 || status === 425 || status === 429 || status >= 500) {
    return new PassingFault(
      `${url.host} is not able to send ${name} now (HTTP ${status}).`,
      readRetryAfter(header(headers, 'retry-after')),
    )
  }
  return new DownloadError('download_failed', `${url.host} answered HTTP ${status} for ${name}.`)
}

/** Ends an answer that nobody reads any more. */
export function discard(body: ByteAnswer['body']): void {
  body.on('error', () => {}).destroy()
}

/** `Retry-After` in milliseconds: seconds or a date (RFC 9110, section 10.2.3). */
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
