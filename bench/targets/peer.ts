import getPort from 'get-port'
import { startProgram, waitForPort } from '../processes.ts'
import type { ProgramOptions } from '../processes.ts'
import type { Rewrites, Running, Surroundings } from '../target.ts'

interface Peer extends Pick<ProgramOptions, 'name' | 'command' | 'env'> {
  args: (port: number) => string[] | Promise<string[]>
  /** What callers must send along */
  headers?: Record<string, string>
  rewrites?: Rewrites
  /** Seconds that a start may take */
  patience?: number
}

/** Returns a function that starts a process of a peer, which serves everything on one port. */
export function preparePeer(
  { cores, folder, cleanup }: Surroundings,
  { name, command, env, args, headers = {}, rewrites, patience }: Peer,
): () => Promise<Running> {
  return async () => {
    const port = await getPort({ host: '127.0.0.1' })
    const program = startProgram({
      name,
      core: cores.gateway,
      folder,
      cleanup,
      env,
      command,
      args: await args(port),
    })
    await waitForPort(program, port, patience)
    return {
      pids: [program.pid],
      ports: { whole: port, stream: port },
      headers,
      rewrites,
      stop: () => program.stop(),
    }
  }
}
