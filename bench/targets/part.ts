import { join } from 'node:path'
import getPort from 'get-port'
import { startProgram, waitForPort } from '../processes.ts'
import type { Running, Surroundings } from '../target.ts'

/** A program in `parts/`: a building block of a Node gateway without Berth. */
export async function startPart(
  { cores, folder, upstreamPort, answerFile, cleanup }: Surroundings,
  name: 'node-http' | 'fastify' | 'undici',
): Promise<() => Promise<Running>> {
  return async () => {
    const port = await getPort({ host: '127.0.0.1' })
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
