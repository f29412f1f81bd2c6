import { join } from 'node:path'
import getPort from 'get-port'
import { installPython } from '../../scripts/suites/python.ts'
import { startProgram, waitForPort } from '../processes.ts'
import type { Running, Surroundings } from '../target.ts'

/** The version of the Python package `vllm-router`, which contains a program in Rust. */
export const vllmRouterVersion = '0.1.17'

/**
 * vLLM's router with its default policy and one worker, the upstream, which counts as healthy for as long as
 * it answers.
 */
export async function startVllmRouter({
  cores,
  folder,
  upstreamPort,
  cleanup,
}: Surroundings): Promise<() => Promise<Running>> {
  const environment = await installPython(`vllm-router-${vllmRouterVersion}`, [
    `vllm-router==${vllmRouterVersion}`,
  ])
  return async () => {
    const port = await getPort({ host: '127.0.0.1' })
    const metricsPort = await getPort({ host: '127.0.0.1' })
    const program = startProgram({
      name: 'vllm-router',
      core: cores.gateway,
      folder,
      cleanup,
      command: join(environment, 'bin/vllm-router'),
      args: [
        '--host=127.0.0.1',
        `--port=${port}`,
        '--prometheus-host=127.0.0.1',
        `--prometheus-port=${metricsPort}`,
        '--worker-urls',
        `http://127.0.0.1:${upstreamPort}`,
        '--log-level=warning',
        // Its defaults refuse the 2,000 idle streams.
        '--max-concurrent-requests=4096',
      ],
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
