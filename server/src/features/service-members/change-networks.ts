import { isDeepStrictEqual } from 'node:util'
import { parseNetworks } from '../../base/network.ts'
import type { Viewer } from '../../base/viewer.ts'
import type { Services } from '../../services.ts'
import { setAllowedNetworks } from '../accounts/service-accounts.ts'
import { recordAction } from '../audit/record-action.ts'
import { deleteSessionsOutside } from '../sessions/limit-sessions.ts'
import { getServiceMember, lockServiceMember } from './find-service-member.ts'
import type { ServiceMember } from './find-service-member.ts'

/** Changes the networks of a service member, and ends its sessions from elsewhere. */
export function changeNetworks(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  viewer: Viewer,
  id: number,
  networks: readonly string[],
): Promise<ServiceMember> {
  return db.transaction().execute(async (transaction) => {
    const { userId, email } = await lockServiceMember(transaction, viewer, id)
    const at = clock()
    const { allowed_networks: before } = await getServiceMember(transaction, id, at)
    if (!isDeepStrictEqual(before, networks)) {
      await setAllowedNetworks(transaction, userId, networks, at)
      await deleteSessionsOutside(transaction, userId, parseNetworks(networks))
      await recordAction(transaction, viewer, 'service_member.updated', {
        target: { type: 'member', id, name: email },
        details: { allowed_networks: { from: before, to: networks } },
      })
    }
    return getServiceMember(transaction, id, at)
  })
}
