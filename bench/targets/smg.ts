import { join } from 'node:path'
import getPort from 'get-port'
import { installPython } from '../../tools/python.ts'
import type { Running, Surroundings } from '../target.ts'
import { preparePeer } from './peer.ts'

/** The version of the Python package `smg`, which contains a program in Rust. */
export const smgVersion = '1.13.0'

const key = 'sk-bench'

/** Shepherd Model Gateway with a caller key, its production log level, and the upstream as OpenAI. */
export async function startSmg(around: Surroundings): Promise<() => Promise<Running>> {
  const environment = await installPython(`smg-${smgVersion}`, [`smg==${smgVersion}`])
  return preparePeer(around, {
    name: 'smg',
    command: join(environment, 'bin/smg'),
    args: async (port) => [
      'launch',
      '--host=127.0.0.1',
      `--port=${port}`,
      '--prometheus-host=127.0.0.1',
      `--prometheus-port=${await getPort({ host: '127.0.0.1' })}`,
      '--backend=openai',
      `--worker-urls=http://127.0.0.1:${around.upstreamPort}`,
      `--tenant-api-key=bench:${key}`,
      '--log-level=warn',
      // The upstream answers a health check like any request: in some workloads with an endless stream.
      '--disable-health-check',
    ],
    headers: { authorization: `Bearer ${key}` },
  })
}
