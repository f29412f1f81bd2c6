import type { Services } from '../../services.ts'
import type { Actor } from '../../base/viewer.ts'
import { recordAction } from '../audit/record-action.ts'
import { resetIdentities } from '../sso/unlink-identities.ts'
import { userNotFound } from './find.ts'

/** Removes an account's links to providers, ends its sessions, emails its owner. Throws `not_found`. */
export async function unlinkIdentitiesOf(
  deps: Pick<Services, 'db' | 'clock' | 'config' | 'jobs'>,
  operator: Actor,
  id: number,
): Promise<void> {
  await deps.db.transaction().execute(async (transaction) => {
    const user = await resetIdentities(deps, transaction, id)
    if (user === undefined) throw userNotFound()
    await recordAction(transaction, operator, 'user.identity_unlinked', {
      organizationId: user.organizationId,
      target: { type: 'user', id, name: user.email },
      details: { operator: operator.email },
    })
  })
}
