import type { Services } from '../../../services.ts'
import { listParts, removePart } from './upload-files.ts'

type SweepDeps = Pick<Services, 'db' | 'config'>

const pauseMilliseconds = 600_000

/** Removes this server's files of uploads that are complete or removed. */
export async function sweepParts({ db, config: { dataDirectory } }: SweepDeps): Promise<void> {
  // Listed before the rows: an upload has its row before its file.
  const ids = await listParts(dataDirectory)
  const rows = await db.selectFrom('model_uploads').select('id').where('status', '=', 'receiving').execute()
  const needed = new Set(rows.map(({ id }) => id))
  for (const id of ids) if (!needed.has(id)) await removePart(dataDirectory, id)
}

/** Repeated sweeps of the folder of a server that shares no disk with the one that runs the jobs. */
export interface FolderSweeps {
  start(): void
  /** Resolves when a sweep in progress has ended. */
  stop(): Promise<void>
}

/** Sweeps the folder of this server every ten minutes, and lets the remote store tidy up. */
export function createFolderSweeps(deps: SweepDeps & Pick<Services, 'modelStore' | 'log'>): FolderSweeps {
  const stopped = new AbortController()
  let running = Promise.resolve()
  let timer: NodeJS.Timeout | undefined
  const sweep = async () => {
    try {
      await sweepParts(deps)
      await deps.modelStore.tidy(stopped.signal)
    } catch (error) {
      if (stopped.signal.aborted) return
      deps.log.warn({ err: error }, 'uploaded files were not swept; retrying later')
    }
  }
  const sweepNext = () => {
    running = running.then(sweep)
  }
  return {
    start() {
      sweepNext()
      timer = setInterval(sweepNext, pauseMilliseconds).unref()
    },
    async stop() {
      clearInterval(timer)
      stopped.abort()
      await running
    },
  }
}
