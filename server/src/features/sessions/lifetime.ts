import { defaultSessionMilliseconds } from '../../config/sso.ts'
import type { SsoConfig } from '../../config/sso.ts'

const day = 24 * 3_600_000

/** A session that is not used ends after 7 days. In milliseconds. */
export const lifetime = 7 * day

/** Most milliseconds from a session's start to its end, unless an identity provider sets a limit. */
export const maxLifetime = 30 * day

/** The end that use does not extend. Where passwords are disabled, earlier sessions follow the rule too. */
export function latestEnd(
  session: { auth_method: string; created_at: Date; ends_at: Date | null },
  sso: SsoConfig | null,
): Date {
  const { auth_method: method, created_at: createdAt, ends_at: endsAt } = session
  if (sso?.only !== true) return endsAt ?? new Date(createdAt.getTime() + maxLifetime)
  if (method === 'password') return createdAt
  if (sso.sessionMilliseconds === null && endsAt !== null) return endsAt
  const end = createdAt.getTime() + (sso.sessionMilliseconds ?? defaultSessionMilliseconds)
  return new Date(Math.min(end, endsAt?.getTime() ?? Infinity))
}
