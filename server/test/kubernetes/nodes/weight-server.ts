import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { createServer } from 'node:http'
import { resolve } from 'node:path'
import { listen } from '../../support/listen.ts'

const commit = 'a'.repeat(40)
const model = resolve(import.meta.dirname, '../../../../catalog/weights/berth-tiny.gguf')

/** A server at an address that pods reach */
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

/**
 * Answers as the Hugging Face Hub does. The repository `berth/tiny` has `files`, by name with their paths, by
 * default the bundled model as `tiny.gguf`. Any other repository answers with the status that its name
 * contains, as in `berth/answers-404`.
 */
export async function startWeightServer(
  host: string,
  files: Record<string, string> = { 'tiny.gguf': model },
): Promise<WeightServer> {
  const sizes: Record<string, number> = {}
  for (const [name, path] of Object.entries(files)) sizes[name] = (await stat(path)).size
  const requests: string[] = []
  const server = createServer((incoming, response) => {
    const path = new URL(incoming.url ?? '/', 'http://hub').pathname
    requests.push(path)
    const status = /answers-(\d+)/.exec(path)?.[1]
    const json = (code: number, body: unknown, headers = {}) => {
      response.writeHead(code, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
    }
    if (status !== undefined)
      return json(Number(status), { error: messages[status] ?? 'Service Unavailable' })
    if (path === '/api/models/berth/tiny/refs') {
      return json(200, { branches: [{ name: 'main', ref: 'refs/heads/main', targetCommit: commit }] })
    }
    if (/^\/api\/models\/berth\/tiny\/tree\/\w+$/.test(path)) {
      const entries = Object.entries(sizes)
      return json(
        200,
        entries.map(([name, size]) => ({ type: 'file', path: name, size, oid: commit })),
      )
    }
    if (/^\/api\/models\/berth\/tiny(\/revision\/\w+)?$/.test(path)) {
      const siblings = Object.keys(files).map((rfilename) => ({ rfilename }))
      return json(200, { id: 'berth/tiny', sha: commit, siblings, private: false, tags: [] })
    }
    const name = /^\/berth\/tiny\/resolve\/\w+\/([\w.-]+)$/.exec(path)?.[1] ?? ''
    const file = files[name]
    if (file === undefined)
      return json(404, { error: 'Entry not found' }, { 'x-error-code': 'EntryNotFound' })
    const etag = createHash('sha1').update(name).digest('hex')
    response.writeHead(200, {
      'content-length': sizes[name],
      etag: `"${etag}"`,
      'x-repo-commit': commit,
      'accept-ranges': 'bytes',
    })
    if (incoming.method === 'HEAD') return response.end()
    createReadStream(file).pipe(response)
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
