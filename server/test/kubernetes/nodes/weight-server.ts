import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { createServer } from 'node:http'
import { resolve } from 'node:path'
import { listen } from '../../support/listen.ts'

const commit = 'a'.repeat(40)
const model = resolve(import.meta.dirname, '../../../../catalog/weights/berth-tiny.gguf')

/**
 * Answers as the Hugging Face Hub does, at an address that pods reach. The repository `berth/tiny` has the bundled model as
 * `tiny.gguf`; any other repository answers with the status that its name contains, as in `berth/answers-404`.
 */
export interface WeightServer {
  url: string
  /** Paths of all requests so far */
  requests: string[]
  close(): Promise<void>
}

const messages: Record<string, string> = {
  401: 'Invalid username or password.',
  403: 'Access to model is restricted and you are not in the authorized list.',
  404: 'Repository not found',
}

export async function startWeightServer(host: string): Promise<WeightServer> {
  const { size } = await stat(model)
  const requests: string[] = []
  const server = createServer((incoming, response) => {
    const path = new URL(incoming.url ?? '/', 'http://hub').pathname
    requests.push(path)
    const status = /answers-(\d+)/.exec(path)?.[1]
    const json = (code: number, body: unknown) => {
      response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    }
    if (status !== undefined)
      return json(Number(status), { error: messages[status] ?? 'Service Unavailable' })
    if (path === '/api/models/berth/tiny/refs') {
      return json(200, { branches: [{ name: 'main', ref: 'refs/heads/main', targetCommit: commit }] })
    }
    if (path === `/api/models/berth/tiny/tree/${commit}`) {
      return json(200, [{ type: 'file', path: 'tiny.gguf', size, oid: commit }])
    }
    if (!/^\/berth\/tiny\/resolve\/\w+\/tiny\.gguf$/.test(path))
      return json(404, { error: 'Entry not found' })
    const headers = { 'content-length': size, etag: `"${commit}"`, 'accept-ranges': 'bytes' }
    response.writeHead(200, headers)
    if (incoming.method === 'HEAD') return response.end()
    createReadStream(model).pipe(response)
  })
  const port = await listen(server, 0, host)
  return {
    url: `http://${host}:${port}`,
    requests,
    async close() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}
