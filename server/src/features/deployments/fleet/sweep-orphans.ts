import type { ModelRuntime } from '../../../ports/model-runtime.ts'
import type { Services } from '../../../services.ts'
import { findLiveInstances } from '../state/store.ts'

/** An engine on a runtime without a reason: its id is unknown, or that of a released instance. */
interface Orphan {
  runtime: ModelRuntime
  id: string
}

/** The orphans of all runtimes. */
export async function listOrphans({
  db,
  runtimes,
}: Pick<Services, 'db' | 'runtimes'>): Promise<readonly Orphan[]> {
  const lists = await Promise.all(
    runtimes.all.map(async (runtime) => {
      const ids = await runtime.listEngineIds()
      const live = await findLiveInstances(db, ids)
      const suspects = ids.filter((id) => !live.has(id))
      if (suspects.length === 0) return []
      // An engine that was released between the two reads is gone from the runtime by now.
      const held = new Set(await runtime.listEngineIds())
      return suspects.flatMap((id) => (held.has(id) ? { runtime, id } : []))
    }),
  )
  return lists.flat()
}

/** Releases orphaned resources. Failures are logged and retried by the next sweep. */
export async function sweepOrphans({
  db,
  runtimes,
  log,
}: Pick<Services, 'db' | 'runtimes' | 'log'>): Promise<void> {
  for (const { runtime, id } of await listOrphans({ db, runtimes })) {
    try {
      const released = await runtime.release(id)
      log.warn({ engine: id, released }, 'released orphaned resources')
    } catch (error) {
      log.error({ err: error, engine: id }, 'could not release orphaned resources')
    }
  }
}
