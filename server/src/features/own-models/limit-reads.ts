import pLimit from 'p-limit'
import { ApplicationError } from '../../base/errors.ts'

/** Each reads megabytes. */
const maxReads = 8
const maxWaitingReads = 32
/** Of one organization, which may wait for a slow hub, so that others have places */
const ownReads = { running: 2, waiting: 8 }

type RunRead = <Value>(organizationId: number, read: () => Promise<Value>) => Promise<Value>

/** Limits how much is read from other servers at a time, for each organization. Throws `server_busy`. */
export function limitReads(): RunRead {
  const limit = pLimit(maxReads)
  const own = new Map<number, ReturnType<typeof pLimit>>()
  return async (organizationId, read) => {
    const ofOrganization = own.get(organizationId) ?? pLimit(ownReads.running)
    own.set(organizationId, ofOrganization)
    if (ofOrganization.pendingCount < ownReads.waiting && limit.pendingCount < maxWaitingReads) {
      try {
        return await ofOrganization(() => limit(read))
      } finally {
        if (ofOrganization.activeCount + ofOrganization.pendingCount === 0) own.delete(organizationId)
      }
    }
    throw new ApplicationError(
      'server_busy',
      'The server reads much from other servers now. Try again later.',
      5,
    )
  }
}
