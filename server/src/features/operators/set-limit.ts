import type { Services } from '../../services.ts'
import type { Actor } from '../../base/viewer.ts'
import { recordAction } from '../audit/record-action.ts'
import { setDeploymentLimit } from '../billing/limits/set-deployment-limit.ts'
import { findOrganizationStatus } from '../organizations/status.ts'
import { organizationNotFound } from './find.ts'

/** Sets an organization's limit of deployments. Activating billing sets the limit of its mode again. */
export async function setLimit(
  { db, clock, config }: Pick<Services, 'db' | 'clock' | 'config'>,
  operator: Actor,
  organizationId: number,
  limit: number,
): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    if ((await findOrganizationStatus(transaction, organizationId)) === undefined)
      throw organizationNotFound()
    const before = await setDeploymentLimit(transaction, config, organizationId, limit, clock())
    const target = { type: 'organization', id: organizationId } as const
    const details = { limit: { from: before, to: limit }, operator: operator.email }
    await recordAction(transaction, operator, 'organization.limit_changed', {
      organizationId,
      target,
      details,
    })
  })
}
