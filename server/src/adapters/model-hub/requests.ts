/** Requests to a hub and to the hosts that it redirects to, within limits. */

import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import type { Dispatcher } from 'undici'
import { resolveRedirect } from '../../base/resolve-redirect.ts'
import { ModelHubError } from '../../ports/model-hub.ts'

interface RequestContext {
  endpoint: URL
  token: string | null
  dispatcher: Dispatcher
  signal: AbortSignal
}

export interface HubRequests {
  /** Resolves to a whole body. `name` is what it describes, for messages. */
  fetchAll(url: string, name: string, maxBytes: number): Promise<Uint8Array>
  /** Resolves to a part of a file. */
  fetchRange(url: string, name: string, start: number, end: number): Promise<Uint8Array>
}

type Response = Dispatcher.ResponseData

const maxRedirects = 5
const maxAttempts = 3
/** Longer waits than this make the hub unreachable. */
const maxRetryAfterSeconds = 10
/** What all requests of a session may transfer and how many there may be */
const sessionLimits = { bytes: 160 * 2 ** 20, requests: 600 }

/** Opens a session. Its methods throw ModelHubError. */
export function openRequests(context: RequestContext): HubRequests {
  const left = { ...sessionLimits }
  async function fetchBody(url: string, name: string, maxBytes: number, range?: [number, number]) {
    const response = await fetchOk(context, left, url, name, range)
    const isWhole = range === undefined
    if (!isWhole && response.statusCode !== 206 && range[0] > 0) {
      discard(response)
      throw new ModelHubError('invalid', `The hub sent the whole of ${name} instead of a part.`)
    }
    return readBody(response, name, Math.min(maxBytes, left.bytes), left, !isWhole)
  }
  return {
    fetchAll: (url, name, maxBytes) => fetchBody(url, name, maxBytes),
    async fetchRange(url, name, start, end) {
      if (start === end) return new Uint8Array()
      const bytes = await fetchBody(url, name, end - start, [start, end])
      if (bytes.byteLength === end - start) return bytes
      throw new ModelHubError('invalid', `The hub sent ${name} with fewer bytes than it announced.`)
    },
  }
}

async function fetchOk(
  context: RequestContext,
  left: { requests: number },
  url: string,
  name: string,
  range?: [number, number],
): Promise<Response> {
  for (let attempt = 1; ; attempt++) {
    if (left.requests-- <= 0) throw new ModelHubError('invalid', `${name} needs too many requests.`)
    const { response, isHub } = await follow(context, new URL(url), range)
    const { statusCode: status } = response
    if (status === 200 || status === 206) return response
    discard(response)
    if (status !== 429 && status < 500) throw toFailure(context, name, response, isHub)
    const wait = Number(header(response, 'retry-after') ?? attempt / 2)
    if (attempt === maxAttempts || !(wait >= 0 && wait <= maxRetryAfterSeconds)) {
      throw unreachable(context, `it answered HTTP ${status}`)
    }
    await sleep(wait * 1000, undefined, { signal: context.signal }).catch((error: unknown) => {
      throw unreachable(context, 'it took too long', error)
    })
  }
}

/** Sends a request and follows redirects. Only the hub itself gets the token. */
async function follow(
  context: RequestContext,
  start: URL,
  range?: [number, number],
): Promise<{ response: Response; isHub: boolean }> {
  const { endpoint, token, dispatcher, signal } = context
  let url = start
  for (let hop = 0; hop <= maxRedirects; hop++) {
    const isHub = url.origin === endpoint.origin
    const headers = {
      'user-agent': 'berth',
      'accept-encoding': 'identity',
      ...(isHub && token !== null ? { authorization: `Bearer ${token}` } : {}),
      ...(range === undefined ? {} : { range: `bytes=${range[0]}-${range[1] - 1}` }),
    }
    const response = await request(url, { dispatcher, signal, headers }).catch((error: unknown) => {
      throw unreachable(context, describeCause(error, signal), error)
    })
    const location = header(response, 'location')
    const isRedirect = response.statusCode >= 300 && response.statusCode < 400 && location !== null
    if (!isRedirect) return { response, isHub }
    discard(response)
    const next = resolveRedirect(url, location)
    if (next === null) {
      throw new ModelHubError('invalid', `${url.host} redirected to an address that is not allowed.`)
    }
    url = next
  }
  throw new ModelHubError('invalid', `${endpoint.host} redirected more than ${maxRedirects} times.`)
}

/** Reads a body. With `isPart`, bytes after the limit are ignored; otherwise a longer body is an error. */
async function readBody(
  response: Response,
  name: string,
  maxBytes: number,
  left: { bytes: number },
  isPart: boolean,
): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  let size = 0
  try {
    for await (const piece of response.body as AsyncIterable<Uint8Array>) {
      const room = maxBytes - size
      if (piece.byteLength > room && !isPart) throw new ModelHubError('invalid', `${name} is too large.`)
      pieces.push(piece.subarray(0, room))
      size += Math.min(piece.byteLength, room)
      if (size === maxBytes && isPart) break
    }
  } catch (error) {
    discard(response)
    if (error instanceof ModelHubError) throw error
    const message = `The hub stopped sending ${name}. Try again later.`
    throw new ModelHubError('unreachable', message, { cause: error })
  }
  discard(response)
  left.bytes -= size
  return Buffer.concat(pieces)
}

function toFailure(
  { token }: RequestContext,
  name: string,
  response: Response,
  isHub: boolean,
): ModelHubError {
  const { statusCode: status } = response
  const code = header(response, 'x-error-code')
  if (isHub && (code === 'GatedRepo' || status === 403)) {
    const remedy =
      token === null
        ? 'Accept its license on its page, and add a token of that account.'
        : 'Accept its license on its page with the account of the token.'
    return new ModelHubError('gated', `${name} is only for accounts that accepted its license. ${remedy}`)
  }
  if (status === 404 || (isHub && status === 401)) {
    const hint = token === null ? ' A private repository needs a token.' : ''
    return new ModelHubError('not_found', `The hub has no ${name}, or does not show it.${hint}`)
  }
  return new ModelHubError('invalid', `The hub answered HTTP ${status} for ${name}.`)
}

function unreachable({ endpoint }: RequestContext, reason: string, cause?: unknown): ModelHubError {
  const message = `${endpoint.host} is unreachable: ${reason}. Try again later.`
  return new ModelHubError('unreachable', message, { cause })
}

function describeCause(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return 'it took too long'
  const code = error instanceof Error && 'code' in error ? error.code : null
  return typeof code === 'string' ? code : 'the connection failed'
}

/** Closes a response without reading the rest. */
function discard({ body }: Response): void {
  body.on('error', () => {}).destroy()
}

function header({ headers }: Response, name: string): string | null {
  const value = headers[name]
  return (Array.isArray(value) ? value[0] : value) ?? null
}
