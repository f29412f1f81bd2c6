import { hostname, userInfo } from 'node:os'
import { serverActor } from '../../base/viewer.ts'
import type { Actor } from '../../base/viewer.ts'

/** The person at the command line. The audit log shows their account on the host. */
export function identifyOperator(): Actor {
  return { ...serverActor, email: `${findUsername()}@${hostname()}`, userAgent: 'npm run admin' }
}

/** A container may run with a user id that has no name. */
function findUsername(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.())
  }
}
