import type { Logger } from 'pino'
import type { Notifications } from '../../database/notifications.ts'
import type { Database } from '../../database/tables.ts'
import { ApplicationError } from '../../base/errors.ts'
import { findLostAccess } from '../deployments/access.ts'
import type { Access } from '../deployments/access.ts'

/** A request in flight that ends when its caller loses access. */
export interface Revocable extends Access {
  /** Its index among the requests in flight, or -1 */
  openIndex: number
  revoke(): void
}

/** The requests in flight of this process. */
export interface OpenRequests {
  add(request: Revocable): void
  delete(request: Revocable): void
  close(): void
}

/**
 * Ends requests whose caller's session was revoked, or whose caller was removed from the organization. If the database can't confirm
 * the access, the requests end too.
 */
export function trackOpenRequests(
  db: Database,
  notifications: Notifications,
  log: Pick<Logger, 'warn'>,
): OpenRequests {
  // Not a Set: V8's outgrown hash tables refer to their successors. Once one is in old space, minor collections keep all later tables
  // and their requests, which doubled the CPU time of a chat.
  const open: Revocable[] = []

  async function check(requests: readonly Revocable[]): Promise<void> {
    if (requests.length === 0) return
    const lost = await findLostAccess(db, requests).catch((error: unknown) => {
      log.warn({ err: error }, 'could not confirm the access of requests in flight; they end')
      return requests
    })
    for (const request of lost) if (request.openIndex >= 0) request.revoke()
  }

  const stops = [
    notifications.subscribe('session_revoked', (payload) => {
      const userId = Number(payload)
      void check(open.filter((request) => payload === '' || request.userId === userId))
    }),
    notifications.onReconnected(() => void check([...open])),
  ]
  return {
    add(request) {
      request.openIndex = open.push(request) - 1
    },
    delete(request) {
      const index = request.openIndex
      if (index < 0) return
      request.openIndex = -1
      const last = open.pop()!
      if (last === request) return
      open[index] = last
      last.openIndex = index
    },
    close: () => stops.forEach((stop) => stop()),
  }
}

export function accessRevoked(): ApplicationError {
  return new ApplicationError('not_authenticated', 'Your access has ended. Sign in again.')
}
