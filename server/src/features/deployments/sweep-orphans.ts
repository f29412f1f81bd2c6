import type { Services } from '../../services.ts'
import { listHolders } from './store.ts'

/**
 * The ids under which the runtime holds anything without a deployment that may own it: terminated ones, failed ones that have given
 * everything back, and unknown ones.
 */
export async function listOrphans({ db, runtime }: Pick<Services, 'db' | 'runtime'>): Promise<string[]> {
  const held = await runtime.listDeploymentIds()
  const holders = await listHolders(db, held)
  return held.filter((id) => !holders.has(id))
}

/** Gives back whatever the runtime holds without an owner; what can't be released is logged and left to the next sweep. */
export async function sweepOrphans({
  db,
  runtime,
  log,
}: Pick<Services, 'db' | 'runtime' | 'log'>): Promise<void> {
  for (const id of await listOrphans({ db, runtime })) {
    try {
      const released = await runtime.release(id)
      log.warn({ deployment: id, released }, 'gave back what no deployment owns')
    } catch (error) {
      log.error({ err: error, deployment: id }, 'what no deployment owns could not be given back')
    }
  }
}
