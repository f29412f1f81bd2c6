import { Agent, request as requestHttp } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Agent as TlsAgent, request as requestHttps } from 'node:https'
import { pipeline } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { toProgramHeaders, toServerHeaders } from './headers.ts'
import { Refusal } from './refuse.ts'

/** How long a program waits for a server that restarts. Their own timeouts are longer. */
const longestOutage = 60_000
const pause = 250
/** The server never got the request, so a second attempt can't run it twice. */
const unreached = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN'])

const agents = { 'http:': new Agent({ keepAlive: true }), 'https:': new TlsAgent({ keepAlive: true }) }

interface Forwarded {
  request: IncomingMessage
  body: Buffer
  /** Path and query */
  target: string
  cookie: string
}

interface Target {
  /** The origin of the server */
  url: string
  /** The header with which programs may name the person they serve */
  memberHeader?: string | undefined
  /** Called when the request begins to wait for the server */
  onOutage?: (() => void) | undefined
}

/** Sends a request to the server, and waits while the server restarts. Aborts if the program leaves. */
export async function send(
  { url, memberHeader, onOutage }: Target,
  forwarded: Forwarded,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const deadline = Date.now() + longestOutage
  let isWaiting = false
  for (;;) {
    try {
      return await attempt({ url, memberHeader }, forwarded, signal)
    } catch (error) {
      const { code = '', isStale } = error as NodeJS.ErrnoException & { isStale?: boolean }
      if (signal.aborted || Date.now() > deadline || !(isStale || unreached.has(code))) {
        throw new Refusal(
          502,
          'server_unreachable',
          `${url} does not respond: ${code || (error as Error).message}.`,
        )
      }
      if (isStale) continue
      if (!isWaiting) onOutage?.()
      isWaiting = true
      await delay(pause)
    }
  }
}

function attempt(
  { url, memberHeader }: Target,
  { request, body, target, cookie }: Forwarded,
  signal: AbortSignal,
) {
  return new Promise<IncomingMessage>((resolve, reject) => {
    const address = new URL(target, url)
    const isTls = address.protocol === 'https:'
    const outgoing = (isTls ? requestHttps : requestHttp)(address, {
      method: request.method,
      headers: toServerHeaders(request.headers, { cookie, length: body.length, memberHeader }),
      agent: isTls ? agents['https:'] : agents['http:'],
      signal,
    })
    outgoing.once('response', resolve)
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      // The server may close an idle connection just when a request comes.
      reject(Object.assign(error, { isStale: outgoing.reusedSocket && error.code === 'ECONNRESET' }))
    })
    outgoing.end(body)
  })
}

/** Passes a response on as it arrives. */
export async function passOn(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  response.writeHead(incoming.statusCode ?? 502, toProgramHeaders(incoming.headers))
  // The first bytes of a slow response may take minutes.
  response.flushHeaders()
  await pipeline(incoming, response)
}
