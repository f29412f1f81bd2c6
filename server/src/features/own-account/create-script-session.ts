import type { Viewer } from '../../base/viewer.ts'
import type { DatabaseTransaction } from '../../database/tables.ts'
import type { Services } from '../../services.ts'
import { assertPasswordsAllowed } from '../accounts/access-policy.ts'
import { reauthenticate } from '../second-factors/reauthenticate.ts'
import type { Reauthentication } from '../second-factors/reauthenticate.ts'
import { assertRecentSignIn } from '../sessions/assert-recent-sign-in.ts'
import { startScriptSession } from '../sessions/start-script-session.ts'
import type { StartedSession } from '../sessions/start-session.ts'
import { copyOrigin } from '../sso/copy-origin.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'secretKey'>

/** Throws like `reauthenticate`, or without a proof `assertRecentSignIn`, and `startScriptSession`. */
export async function createScriptSession(
  deps: Deps,
  viewer: Viewer,
  { name, proof }: { name: string; proof: Reauthentication | null },
): Promise<StartedSession> {
  const consume = await prove(deps, viewer, proof)
  return deps.db.transaction().execute(async (transaction) => {
    await consume(transaction)
    const session = await startScriptSession(deps, transaction, viewer, name)
    await copyOrigin(transaction, { from: viewer.session.id, to: session.id })
    return session
  })
}

async function prove(
  deps: Deps,
  viewer: Viewer,
  proof: Reauthentication | null,
): Promise<(transaction: DatabaseTransaction) => Promise<void>> {
  if (proof === null) {
    await assertRecentSignIn(deps, viewer)
    return async () => undefined
  }
  assertPasswordsAllowed(deps.config)
  return reauthenticate(deps, viewer, proof, 'session.created_for_scripts')
}
