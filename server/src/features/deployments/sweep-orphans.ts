import type { Services } from '../../services.ts'
import { findResourceOwners } from './store.ts'

/**
 * Deployment ids with resources on the runtime that should have none: unknown ids, terminated deployments, and failed deployments
 * that have already released everything.
 */
export async function listOrphans({ db, runtime }: Pick<Services, 'db' | 'runtime'>): Promise<string[]> {
  const ids = await runtime.listDeploymentIds()
  const owners = await findResourceOwners(db, ids)
  return ids.filter((id) => !owners.has(id))
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
      log.warn({ deployment: id, released }, 'released orphaned resources')
    } catch (error) {
      log.error({ err: error, deployment: id }, 'could not release orphaned resources')
    }
  }
}
