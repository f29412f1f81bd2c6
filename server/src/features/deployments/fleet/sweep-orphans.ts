import type { Services } from '../../../services.ts'
import { findLiveInstances } from '../state/store.ts'

/** Ids of engines on the runtime without a reason: unknown ids, and released instances. */
export async function listOrphans({ db, runtime }: Pick<Services, 'db' | 'runtime'>): Promise<string[]> {
  const ids = await runtime.listEngineIds()
  const live = await findLiveInstances(db, ids)
  const suspects = ids.filter((id) => !live.has(id))
  if (suspects.length === 0) return []
  // An engine that was released between the two reads is gone from the runtime by now.
  const held = new Set(await runtime.listEngineIds())
  return suspects.filter((id) => held.has(id))
}

/** Releases orphaned resources. Failures are logged and retried by the next sweep. */
export async function sweepOrphans({
  db,
  runtime,
  log,
}: Pick<Services, 'db' | 'runtime' | 'log'>): Promise<void> {
  for (const id of await listOrphans({ db, runtime })) {
    try {
      const released = await runtime.release(id)
      log.warn({ engine: id, released }, 'released orphaned resources')
    } catch (error) {
      log.error({ err: error, engine: id }, 'could not release orphaned resources')
    }
  }
}
