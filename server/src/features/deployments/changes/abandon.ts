import { validate as isUuid } from 'uuid'
import { NotFoundError } from '../../../base/errors.ts'
import type { Actor } from '../../../base/viewer.ts'
import type { Database } from '../../../database/tables.ts'
import type { Services } from '../../../services.ts'
import { recordAction } from '../../audit/record-action.ts'
import { changeSpans } from '../../metering/spans.ts'
import { describeTarget } from '../state/audit-target.ts'
import { listLiveInstances } from '../state/instance-store.ts'
import type { Instance } from '../state/instance-store.ts'
import { findDeployment } from '../state/store.ts'
import { terminateWithin } from './terminate.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'runtimes'>

/**
 * Terminates a deployment without its instances on runtimes that are not configured, which nobody can
 * release. Their billing ends at their last sign of life. Resolves to the names of these runtimes; to none,
 * without any change, if all its runtimes are configured.
 */
export async function abandonDeployment(
  { db, clock, runtimes }: Deps,
  operator: Actor,
  id: string,
): Promise<string[]> {
  return db.transaction().execute(async (transaction) => {
    const deployment = isUuid(id) ? await findDeployment(transaction, id) : undefined
    if (deployment === undefined) throw new NotFoundError('No deployment has this id.')
    const left = await listOutOfReach({ db: transaction, runtimes }, id)
    const names = [...new Set(left.map(({ runtime }) => runtime ?? ''))]
    if (left.length === 0) return names
    const at = clock()
    await terminateWithin(transaction, operator, id, { reason: 'Abandoned by the operator.', at })
    const { organization_id: organizationId } = deployment
    await changeSpans(
      transaction,
      left.map(({ id: engineId, lost_at: lostAt }) => ({
        kind: 'close' as const,
        instance: { engineId, organizationId },
        now: lostAt ?? at,
      })),
    )
    await transaction
      .updateTable('instances')
      .set({ status: 'released', engine_url: null, due_at: null, hardware_asked_at: null })
      .set({ updated_at: at, status_changed_at: at })
      .where(
        'id',
        'in',
        left.map((instance) => instance.id),
      )
      .execute()
    const { target, details } = await describeTarget(transaction, operator, deployment)
    await recordAction(transaction, operator, 'deployment.abandoned', {
      target,
      organizationId,
      details: { ...details, runtimes: names, operator: operator.email },
    })
    return names
  })
}

/** The instances of a deployment on runtimes that are not configured. */
async function listOutOfReach(
  { db, runtimes }: { db: Database } & Pick<Deps, 'runtimes'>,
  id: string,
): Promise<Instance[]> {
  const live = (await listLiveInstances(db, [id])).get(id) ?? []
  return live.filter(({ runtime }) => runtime !== null && runtimes.find(runtime) === undefined)
}
