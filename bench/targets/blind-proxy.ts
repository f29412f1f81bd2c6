// Node's HTTP server with undici's dispatch: forwards without inspection. Arguments: port, upstream port.
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Pool } from 'undici'
import type { Dispatcher } from 'undici'

const [, , port, upstreamPort] = process.argv
const pool = new Pool(`http://127.0.0.1:${upstreamPort}`, {
  pipelining: 1,
  headersTimeout: 0,
  bodyTimeout: 0,
  keepAliveTimeout: 60_000,
})

function forward(request: IncomingMessage, body: Buffer, response: ServerResponse): void {
  let engine: Dispatcher.DispatchController | undefined
  response.once('close', () => {
    if (!response.writableFinished) engine?.abort(new Error('The caller has left.'))
  })
  response.on('drain', () => engine?.resume())
  pool.dispatch(
    {
      path: request.url ?? '/',
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    },
    {
      onRequestStart: (controller) => {
        engine = controller
      },
      onResponseStart: (_controller, status, headers) => {
        const length = String(headers['content-length'] ?? '')
        response.writeHead(status, {
          'content-type': String(headers['content-type']),
          ...(length !== '' && { 'content-length': length }),
        })
        if (length === '') response.flushHeaders()
      },
      onResponseData: (controller, piece) => {
        if (!response.write(piece)) controller.pause()
      },
      onResponseEnd: () => void response.end(),
      onResponseError: () => void response.destroy(),
    },
  )
}

createServer((request, response) => {
  const pieces: Buffer[] = []
  request.on('data', (piece: Buffer) => pieces.push(piece))
  request.on('end', () => forward(request, Buffer.concat(pieces), response))
}).listen(Number(port), '127.0.0.1')
