import type { ModelRuntime } from '../../../ports/model-runtime.ts'
import type { Services } from '../../../services.ts'
import { findLiveInstances } from '../state/store.ts'

type Deps = Pick<Services, 'db' | 'runtimes' | 'log'>

/** An engine on a runtime without a reason: its id is unknown, or that of a released instance. */
export interface Orphan {
  runtime: ModelRuntime
  id: string
}

/** The orphans of the runtimes that respond. Throws if none does. */
export async function listOrphans({ db, runtimes, log }: Deps): Promise<Orphan[]> {
  const { all } = runtimes
  const results = await Promise.allSettled(all.map((runtime) => listOrphansOf(db, runtime)))
  const failed = results.flatMap((result, index) =>
    result.status === 'rejected' ? { err: result.reason as unknown, runtime: all[index]!.name } : [],
  )
  if (failed.length === results.length) throw failed[0]!.err
  for (const each of failed) log.warn(each, 'could not look for orphaned resources')
  return results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
}

async function listOrphansOf(db: Deps['db'], runtime: ModelRuntime): Promise<Orphan[]> {
  const ids = await runtime.listEngineIds()
  const live = await findLiveInstances(db, ids)
  const suspects = ids.filter((id) => !live.has(id))
  if (suspects.length === 0) return []
  // The runtime no longer lists an engine that was released between the two reads.
  const held = new Set(await runtime.listEngineIds())
  return suspects.flatMap((id) => (held.has(id) ? { runtime, id } : []))
}

/** Releases orphaned resources. Failures are logged and retried by the next sweep. */
export async function sweepOrphans(deps: Deps): Promise<void> {
  const { log } = deps
  for (const { runtime, id } of await listOrphans(deps)) {
    try {
      const released = await runtime.release(id)
      log.warn({ engine: id, released }, 'released orphaned resources')
    } catch (error) {
      log.error({ err: error, engine: id }, 'could not release orphaned resources')
    }
  }
}
