import { createServer } from 'node:http'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { listen } from './listen.ts'

/** Answers a request whose body was read. */
export type Listener = (...call: Parameters<RequestListener>) => unknown

/** A server that answers as the test says; a real one's list and answer by default. */
export interface EndpointDouble {
  url: string
  requests: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[]
  answer(this: void, listener: Listener): void
  close(): Promise<void>
}

/** Answers with JSON. */
export const json = (response: ServerResponse, body: unknown, status = 200) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

/** Lists two models, and answers everything with `Hi`. */
export const honest: RequestListener = ({ url }, response) => {
  if (url === '/v1/models') {
    return json(response, {
      object: 'list',
      data: [{ id: 'llama', max_model_len: 4096 }, { id: 'my-embedder' }],
    })
  }
  const usage = { prompt_tokens: 3, completion_tokens: 1 }
  return json(response, { model: 'llama-2026', choices: [{ message: { content: 'Hi' } }], usage })
}

/** Starts a server with OpenAI's protocol that somebody else runs. Default: a free port. */
export async function startEndpointDouble(atPort = 0): Promise<EndpointDouble> {
  const requests: EndpointDouble['requests'] = []
  let listener: Listener = honest
  const receive = async (...[request, response]: Parameters<RequestListener>) => {
    const { method = '', url = '', headers } = request
    requests.push({ method, url, headers, body: await text(request) })
    listener(request, response)
  }
  const server = createServer((request, response) => void receive(request, response))
  const port = await listen(server, atPort)
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    answer: (next) => void (listener = next),
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
