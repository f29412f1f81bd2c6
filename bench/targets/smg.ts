import { join } from 'node:path'
import getPort from 'get-port'
import { installPython } from '../../scripts/suites/python.ts'
import { startProgram, waitForPort } from '../processes.ts'
import type { Running, Surroundings } from '../target.ts'

/** The version of the Python package `smg`, which contains a program in Rust. */
export const smgVersion = '1.13.0'

const key = 'sk-bench'

/**
 * Shepherd Model Gateway with a key for callers and the log level of its production guide. Its OpenAI backend
 * is the upstream.
 */
export async function startSmg({
  cores,
  folder,
  upstreamPort,
  cleanup,
}: Surroundings): Promise<() => Promise<Running>> {
  const environment = await installPython(`smg-${smgVersion}`, [`smg==${smgVersion}`])
  return async () => {
    const port = await getPort({ host: '127.0.0.1' })
    const metricsPort = await getPort({ host: '127.0.0.1' })
    const program = startProgram({
      name: 'smg',
      core: cores.gateway,
      folder,
      cleanup,
      command: join(environment, 'bin/smg'),
      args: [
        'launch',
        '--host=127.0.0.1',
        `--port=${port}`,
        '--prometheus-host=127.0.0.1',
        `--prometheus-port=${metricsPort}`,
        '--backend=openai',
        `--worker-urls=http://127.0.0.1:${upstreamPort}`,
        `--tenant-api-key=bench:${key}`,
        '--log-level=warn',
        // The upstream answers a health check like any other request, which in some workloads is an endless
        // stream.
        '--disable-health-check',
      ],
    })
    await waitForPort(program, port)
    return {
      pids: [program.pid],
      ports: { whole: port, stream: port },
      headers: { authorization: `Bearer ${key}` },
      stop: () => program.stop(),
    }
  }
}
