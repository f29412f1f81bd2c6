import { createServer } from 'node:http'
import { listen } from '../../support/listen.ts'

/** A proxy that leads nowhere and notes where programs want to go. */
export interface Outside {
  /** Makes programs use it for all but this machine */
  env: Record<string, string>
  /** Hosts, in order */
  asked: string[]
  close(): void
}

/** Starts a proxy that refuses everything. */
export async function watchOutside(): Promise<Outside> {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(new URL(request.url ?? '', 'http://unknown').host)
    response.writeHead(502).end()
  })
  server.on('connect', ({ url }, socket) => {
    asked.push(url ?? '')
    socket.on('error', () => {})
    socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')
  })
  const url = `http://127.0.0.1:${await listen(server)}`
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY']
  const proxies = names.flatMap((name) => [name, name.toLowerCase()]).map((name) => [name, url])
  const local = '127.0.0.1,localhost'
  return {
    env: { ...Object.fromEntries(proxies), NO_PROXY: local, no_proxy: local },
    asked,
    close: () => void server.close(),
  }
}
