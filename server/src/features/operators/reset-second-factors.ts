import type { Services } from '../../services.ts'
import type { Actor } from '../../base/viewer.ts'
import { resetSecondFactors } from '../second-factors/remove-factors.ts'
import { recordAction } from '../audit/record-action.ts'
import { userNotFound } from './find.ts'

/** Removes an account's second factors, ends its sessions, emails its owner. Throws `no_second_factor`. */
export async function resetFactorsOf(
  deps: Pick<Services, 'db' | 'clock' | 'config' | 'jobs'>,
  operator: Actor,
  id: number,
): Promise<void> {
  await deps.db.transaction().execute(async (transaction) => {
    const user = await resetSecondFactors(deps, transaction, id)
    if (user === undefined) throw userNotFound()
    await recordAction(transaction, operator, 'user.second_factors_reset', {
      organizationId: user.organizationId,
      target: { type: 'user', id, name: user.email },
      details: { operator: operator.email },
    })
  })
}
