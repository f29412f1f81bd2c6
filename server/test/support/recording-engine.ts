import { createServer } from 'node:http'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A request as an engine received it. */
export interface RecordedRequest {
  path: string
  headers: IncomingHttpHeaders
  body: string
  /** True once the connection ended before the answer did */
  aborted: boolean
}

export interface RecordingEngine {
  url: string
  /** In the order in which they came */
  requests: RecordedRequest[]
  /** The newest request; throws when there was none */
  last(): RecordedRequest
  /** What is done with each request from now on */
  answer(handler: (response: ServerResponse, request: RecordedRequest) => void): void
  close(): Promise<void>
}

/** An HTTP server in an engine's place, whose answers a test writes byte by byte. */
export async function startRecordingEngine(): Promise<RecordingEngine> {
  const requests: RecordedRequest[] = []
  let handle: (response: ServerResponse, request: RecordedRequest) => void = (response) => response.end('{}')
  const server = createServer((incoming, response) => {
    const pieces: Buffer[] = []
    incoming.on('data', (piece: Buffer) => pieces.push(piece))
    incoming.on('end', () => {
      const body = Buffer.concat(pieces).toString()
      const request = { path: incoming.url ?? '', headers: incoming.headers, body, aborted: false }
      response.on('close', () => {
        request.aborted = !response.writableFinished
      })
      requests.push(request)
      handle(response, request)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    last() {
      const request = requests.at(-1)
      if (request === undefined) throw new Error('the engine was asked nothing')
      return request
    },
    answer: (handler) => {
      handle = handler
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Answers as JSON, bytes as given. */
export function answerJson(response: ServerResponse, body: string, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(body)
}
