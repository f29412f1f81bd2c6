import type { Viewer } from '../../base/viewer.ts'
import type { DatabaseTransaction } from '../../database/tables.ts'
import type { Services } from '../../services.ts'
import type { AuditAction } from '../audit/actions.ts'
import { reauthenticate } from '../second-factors/reauthenticate.ts'
import type { Reauthentication } from '../second-factors/reauthenticate.ts'
import { assertRecentSignIn } from '../sessions/assert-recent-sign-in.ts'

/** Like `reauthenticate`; without a proof, requires a sign-in through SSO within the last ten minutes. */
export async function proveIdentity(
  deps: Pick<Services, 'db' | 'clock' | 'config' | 'secretKey'>,
  viewer: Viewer,
  proof: Reauthentication | null,
  action: AuditAction,
): Promise<(transaction: DatabaseTransaction) => Promise<void>> {
  if (proof !== null) return reauthenticate(deps, viewer, proof, action)
  await assertRecentSignIn(deps, viewer)
  return async () => undefined
}
