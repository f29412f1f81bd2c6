import type { IncomingMessage, ServerResponse } from 'node:http'
import { engineAlias } from './models.ts'
import type { SimulatedModel } from './models.ts'

/** Request fields that Xinference drops. */
const dropped = { '/v1/chat/completions': ['n', 'user'], '/v1/embeddings': ['encoding_format', 'user'] }
export type SimulatedPath = keyof typeof dropped

export function isInferencePath(path: string): path is SimulatedPath {
  return path in dropped
}

/**
 * Proxies a request to a model's engine and answers in Xinference's format: errors as `detail`, CRLF in
 * streams.
 */
export async function proxyInference(
  model: SimulatedModel,
  key: string,
  path: SimulatedPath,
  body: Record<string, any>,
  response: ServerResponse,
): Promise<void> {
  // Xinference reads `include_usage` without checking that it exists.
  const options = body['stream_options']
  if (body['stream'] === true && options != null && !('include_usage' in options)) {
    response.writeHead(500, { 'content-type': 'text/plain' }).end('Internal Server Error')
    return
  }
  const kept = Object.fromEntries(Object.entries(body).filter(([name]) => !dropped[path].includes(name)))
  const callerLeft = new AbortController()
  response.on('close', () => callerLeft.abort())
  const answer = await fetch(`${model.engineUrl}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({ ...kept, model: engineAlias }),
    signal: callerLeft.signal,
  })
  const type = answer.headers.get('content-type') ?? 'application/json'
  if (!answer.ok) {
    const { error } = (await answer.json()) as { error: { message: string } }
    const detail = `[address=127.0.0.1:41234, pid=17] ${error.message}`
    response.writeHead(500, { 'content-type': 'application/json' }).end(JSON.stringify({ detail }))
    return
  }
  response.writeHead(200, { 'content-type': type })
  const text = new TextDecoder()
  for await (const piece of answer.body ?? []) {
    const part = text.decode(piece, { stream: true })
    response.write(type.startsWith('text/event-stream') ? part.replaceAll('\n', '\r\n') : part)
  }
  response.end()
}

/** Reads a JSON body; null if it is not JSON. */
export async function readBody(request: IncomingMessage): Promise<Record<string, any> | null> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  try {
    return JSON.parse(Buffer.concat(pieces).toString()) as Record<string, any>
  } catch {
    return null
  }
}
