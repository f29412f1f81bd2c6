import type { Viewer } from '../../base/viewer.ts'
import type { Services } from '../../services.ts'
import { recordAction } from '../audit/record-action.ts'
import { deleteSessions } from '../sessions/delete-sessions.ts'
import { limitSessions } from '../sessions/limit-sessions.ts'
import type { IssuedServiceMember } from './create-service-member.ts'
import { getServiceMember, lockServiceMember } from './find-service-member.ts'
import { endPasswords, issuePassword } from './passwords.ts'

/** How long a replaced password and the sessions before it go on. In milliseconds. */
const overlap = 24 * 3_600_000

/** Unless `now`, the old password and sessions last a day more, so that the program needs no pause. */
export function rotatePassword(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  viewer: Viewer,
  id: number,
  now: boolean,
): Promise<IssuedServiceMember> {
  return db.transaction().execute(async (transaction) => {
    const { userId, email } = await lockServiceMember(transaction, viewer, id)
    const at = clock()
    const end = now ? at : new Date(at.getTime() + overlap)
    await endPasswords(transaction, userId, { at, end })
    if (now) await deleteSessions(transaction, userId)
    else await limitSessions(transaction, userId, end)
    const password = await issuePassword(transaction, userId, at)
    await recordAction(transaction, viewer, 'service_member.password_rotated', {
      target: { type: 'member', id, name: email },
      details: { now },
    })
    return { member: await getServiceMember(transaction, id, at), password }
  })
}
