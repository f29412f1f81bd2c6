import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import getPort from 'get-port'
import { startProgram, waitForPort } from '../processes.ts'
import type { Running, Surroundings } from '../target.ts'

/** haproxy with one thread and shared upstream connections. */
export async function startHaproxy({
  cores,
  folder,
  upstreamPort,
  cleanup,
}: Surroundings): Promise<() => Promise<Running>> {
  return async () => {
    const port = await getPort({ host: '127.0.0.1' })
    const file = join(folder, `haproxy-${port}.cfg`)
    await writeFile(file, compose(port, upstreamPort))
    const program = startProgram({
      name: 'haproxy',
      core: cores.gateway,
      folder,
      cleanup,
      command: 'haproxy',
      args: ['-db', '-f', file],
    })
    await waitForPort(program, port)
    return {
      pids: [program.pid],
      ports: { whole: port, stream: port },
      headers: {},
      stop: () => program.stop(),
    }
  }
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
