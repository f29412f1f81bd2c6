import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Running, Surroundings } from '../target.ts'
import { preparePeer } from './peer.ts'

/** haproxy with one thread and shared upstream connections. */
export async function startHaproxy(around: Surroundings): Promise<() => Promise<Running>> {
  return preparePeer(around, {
    name: 'haproxy',
    command: 'haproxy',
    async args(port) {
      const file = join(around.folder, `haproxy-${port}.cfg`)
      await writeFile(file, compose(port, around.upstreamPort))
      return ['-db', '-f', file]
    },
  })
}

function compose(port: number, upstreamPort: number): string {
  return `global
  nbthread 1
  maxconn 9000
defaults
  mode http
  timeout connect 5s
  timeout client 300s
  timeout server 300s
  timeout http-keep-alive 1h
  option http-no-delay
  http-reuse always
frontend callers
  bind 127.0.0.1:${port} backlog 4096
  default_backend engines
backend engines
  server engine 127.0.0.1:${upstreamPort} pool-max-conn -1 pool-purge-delay 1h
`
}
