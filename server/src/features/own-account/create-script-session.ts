import type { Viewer } from '../../base/viewer.ts'
import type { Services } from '../../services.ts'
import { assertPasswordsAllowed } from '../accounts/access-policy.ts'
import type { Reauthentication } from '../second-factors/reauthenticate.ts'
import { startScriptSession } from '../sessions/start-script-session.ts'
import type { StartedSession } from '../sessions/start-session.ts'
import { copyOrigin } from '../sso/copy-origin.ts'
import { proveIdentity } from './prove-identity.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'secretKey'>

/** Throws like `proveIdentity` and `startScriptSession`. */
export async function createScriptSession(
  deps: Deps,
  viewer: Viewer,
  { name, proof }: { name: string; proof: Reauthentication | null },
): Promise<StartedSession> {
  if (proof !== null) assertPasswordsAllowed(deps.config)
  const consume = await proveIdentity(deps, viewer, proof, 'session.created_for_scripts')
  return deps.db.transaction().execute(async (transaction) => {
    await consume(transaction)
    const session = await startScriptSession(deps, transaction, viewer, name)
    await copyOrigin(transaction, { from: viewer.session.id, to: session.id })
    return session
  })
}
