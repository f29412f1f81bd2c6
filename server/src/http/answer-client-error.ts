import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { ApplicationError } from '../base/errors.ts'
import { composeProblem, toPublicError } from './errors.ts'
import { headersTooLarge } from './guards.ts'

/** Node's parser reads so many bytes of a head, so that guards can refuse long ones as the route does. */
export const parsedHeaderBytes = 64 * 1024
/** Time for callers to read an error while they still send */
const lingerMilliseconds = 2_000

const refused = new WeakSet<Socket>()

/** Answers what Node's parser refuses before any route: with a problem that is also an error of OpenAI. */
export function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  // The parser reports every further piece of what it has refused.
  if (refused.has(socket)) return
  refused.add(socket)
  const { _httpMessage: open } = socket as Socket & { _httpMessage?: ServerResponse | null }
  if (error.code === 'ECONNRESET' || !socket.writable || open?.headersSent) return void socket.destroy()
  const publicError = toPublicError(toRefusal(error.code))
  const problem = composeProblem(publicError, randomUUID())
  const { detail: message, code, status, title } = problem
  const body = JSON.stringify({
    ...problem,
    error: { message, type: 'invalid_request_error', param: null, code },
  })
  const head = [
    `HTTP/1.1 ${status} ${title}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${problem.request_id}`,
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
  // The request whose body is refused ends now.
  if (open) {
    socket.destroySoon()
    return
  }
  // Closing at once would reset the connection of a caller who is still sending, and lose the response.
  const timer = setTimeout(() => socket.destroy(), lingerMilliseconds)
  socket.once('close', () => clearTimeout(timer))
}

function toRefusal(code: string | undefined): ApplicationError {
  if (code === 'HPE_HEADER_OVERFLOW') return headersTooLarge()
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new ApplicationError('request_timeout', 'The request head arrived too slowly.')
  }
  return new ApplicationError('malformed_request', 'The request is not valid HTTP.')
}
