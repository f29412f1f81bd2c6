import { join } from 'node:path'
import getPort from 'get-port'
import { installPython } from '../../tools/python.ts'
import type { Running, Surroundings } from '../target.ts'
import { preparePeer } from './peer.ts'

/** The version of the Python package `vllm-router`, which contains a program in Rust. */
export const vllmRouterVersion = '0.1.17'

/** vLLM's router with its default policy and one worker: the upstream, healthy while it responds. */
export async function startVllmRouter(around: Surroundings): Promise<() => Promise<Running>> {
  const environment = await installPython(`vllm-router-${vllmRouterVersion}`, [
    `vllm-router==${vllmRouterVersion}`,
  ])
  return preparePeer(around, {
    name: 'vllm-router',
    command: join(environment, 'bin/vllm-router'),
    args: async (port) => [
      '--host=127.0.0.1',
      `--port=${port}`,
      '--prometheus-host=127.0.0.1',
      `--prometheus-port=${await getPort({ host: '127.0.0.1' })}`,
      '--worker-urls',
      `http://127.0.0.1:${around.upstreamPort}`,
      '--log-level=warning',
      // Its defaults refuse the 2,000 idle streams.
      '--max-concurrent-requests=4096',
    ],
  })
}
