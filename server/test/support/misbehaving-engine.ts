import { createServer } from 'node:net'
import type { Socket } from 'node:net'
import { countPath, startEngineDouble } from './engine-double.ts'
import type { EngineDouble } from './engine-double.ts'

/** A request as received, including its raw bytes. */
export interface RawRequest {
  /** Lowercase names; repeated headers have all values */
  headers: Record<string, string>
  body: string
  /** true once the connection has ended */
  ended: boolean
}

export interface MisbehavingEngine extends EngineDouble<RawRequest> {
  /** Sets the handler that writes the raw response to each complete request */
  answer(script: (socket: Socket, request: RawRequest) => unknown): void
  /** The number of open connections */
  open(): number
}

/** Starts a TCP server as an engine double. The test writes its responses byte by byte, valid HTTP or not. */
export async function startMisbehavingEngine(): Promise<MisbehavingEngine> {
  const requests: RawRequest[] = []
  const sockets = new Set<Socket>()
  let answer: (socket: Socket, request: RawRequest) => unknown = (socket) => socket.destroy()
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket)
    let received = Buffer.alloc(0)
    const own: RawRequest[] = []
    socket.on('error', () => {})
    socket.on('close', () => {
      sockets.delete(socket)
      for (const request of own) request.ended = true
    })
    socket.on('data', (bytes) => {
      received = Buffer.concat([received, bytes])
      for (let taken = takeRequest(received); taken !== null; taken = takeRequest(received)) {
        received = received.subarray(taken.length)
        if (taken.path.startsWith(countPath)) {
          socket.write(composeResponse('{}', 'HTTP/1.1 404 Not Found'))
          continue
        }
        own.push(taken.request)
        requests.push(taken.request)
        answer(socket, taken.request)
      }
    })
  })
  const double = await startEngineDouble(server, requests, () => {
    for (const socket of sockets) socket.destroy()
  })
  return {
    ...double,
    answer: (script) => {
      answer = script
    },
    open: () => sockets.size,
  }
}

/**
 * Parses the first request and its length in bytes; null while it is incomplete. Requires a Content-Length.
 */
function takeRequest(bytes: Buffer): { path: string; request: RawRequest; length: number } | null {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd === -1) return null
  const headers: Record<string, string> = {}
  const [requestLine = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n')
  for (const line of lines) {
    const colon = line.indexOf(':')
    const name = line.slice(0, colon).toLowerCase()
    const value = line.slice(colon + 1).trim()
    headers[name] = name in headers ? `${headers[name]}, ${value}` : value
  }
  const length = headEnd + 4 + Number(headers['content-length'] ?? 0)
  if (bytes.length < length) return null
  const request = { headers, body: bytes.toString('utf8', headEnd + 4, length), ended: false }
  return { path: requestLine.split(' ')[1] ?? '', request, length }
}

/** A complete response with a Content-Length. */
export function composeResponse(
  body: string,
  head = 'HTTP/1.1 200 OK\r\ncontent-type: application/json',
): string {
  return `${head}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}

/** The head of an event stream. `toChunk` encodes its chunks. */
export const streamHead =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'

export function toChunk(text: string, extension = ''): string {
  return `${Buffer.byteLength(text).toString(16)}${extension}\r\n${text}\r\n`
}

export const lastChunk = '0\r\n\r\n'
