import type { ServerResponse } from 'node:http'

/** A response of the proxy itself, instead of the server's. */
export class Refusal extends Error {
  readonly status: number
  readonly type: string

  constructor(status: number, type: string, message: string) {
    super(message)
    this.name = 'Refusal'
    this.status = status
    this.type = type
  }
}

/** Responds with an error in the shape that the clients of a path read. */
export function refuse(response: ServerResponse, path: string, { status, type, message }: Refusal): void {
  const body = path.startsWith('/v1/messages')
    ? { type: 'error', error: { type, message } }
    : { error: { message, type, param: null, code: type } }
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
