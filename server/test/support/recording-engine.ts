import { createServer } from 'node:http'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { countPath, startEngineDouble } from './engine-double.ts'
import type { EngineDouble } from './engine-double.ts'
import { createScriptedRuntime } from './scripted-runtime.ts'
import type { ScriptedRuntime } from './scripted-runtime.ts'
import { startTestServer } from './server.ts'

/** A request as an engine received it. */
export interface RecordedRequest {
  path: string
  headers: IncomingHttpHeaders
  body: string
  /** true if the connection closed before the response was complete */
  aborted: boolean
}

export interface RecordingEngine extends EngineDouble<RecordedRequest> {
  /** Sets the handler of all further requests */
  answer(handler: (response: ServerResponse, request: RecordedRequest) => void): void
}

/** Starts an HTTP server as an engine double. The test writes its responses. */
export async function startRecordingEngine(): Promise<RecordingEngine> {
  const requests: RecordedRequest[] = []
  let handle: (response: ServerResponse, request: RecordedRequest) => void = (response) => response.end('{}')
  const server = createServer((incoming, response) => {
    // Berth sends engines POSTs only. A GET is for a server of another test, which had this port before.
    if (incoming.method !== 'POST' || incoming.url?.startsWith(countPath)) {
      return void response.writeHead(404).end()
    }
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
  const double = await startEngineDouble(server, requests, () => server.closeAllConnections())
  return {
    ...double,
    answer: (handler) => {
      handle = handler
    },
  }
}

/** Responds with the given JSON text. */
export function answerJson(response: ServerResponse, body: string, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(body)
}

/**
 * Starts an engine that answers every request with an empty result, and makes the runtime report it as the
 * engine of each deployment.
 */
export async function startAnsweringEngine(runtime: ScriptedRuntime): Promise<RecordingEngine> {
  const engine = await startRecordingEngine()
  engine.answer((response) =>
    answerJson(response, '{"choices":[{"message":{"content":""}}],"data":[],"count":1}'),
  )
  runtime.answer({
    ensureEngine: () => ({ phase: 'ready', endpoint: { baseUrl: engine.url } }),
    observeEngine: () => ({ phase: 'ready', endpoint: { baseUrl: engine.url } }),
  })
  return engine
}

/** A server on a scripted runtime whose engine answers every request; `close` ends both. */
export async function startAnsweringServer(settings: Record<string, string> = {}) {
  const runtime = createScriptedRuntime()
  const engine = await startAnsweringEngine(runtime)
  const server = await startTestServer({ runtime, settings })
  const close = async () => {
    await server.close()
    await engine.close()
  }
  return { server, engine, runtime, close }
}
