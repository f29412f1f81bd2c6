import { join } from 'node:path'
import { findFreePort, startProgram, waitForPort } from '../processes.ts'
import type { Running, Surroundings } from '../targets.ts'

/** One of the programs in `parts/`: what our stack is made of, without our work. */
export async function startPart(
  { cores, folder, upstreamPort, answerFile, cleanup }: Surroundings,
  name: 'node-http' | 'fastify' | 'undici',
): Promise<() => Promise<Running>> {
  return async () => {
    const port = await findFreePort()
    const program = startProgram({
      name,
      core: cores.gateway,
      folder,
      cleanup,
      command: process.execPath,
      args: [
        join(import.meta.dirname, '../parts', `${name}.ts`),
        String(port),
        name === 'undici' ? String(upstreamPort) : answerFile,
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
