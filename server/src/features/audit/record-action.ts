import { sql } from 'kysely'
import type { Database } from '../../database/tables.ts'
import type { Actor } from '../../base/viewer.ts'
import { isPersonal } from './actions.ts'
import type { AuditAction } from './actions.ts'

/** What an action changed. `name` is what people call it, such as an email. */
export interface AuditTarget {
  type:
    | 'user'
    | 'session'
    | 'organization'
    | 'member'
    | 'invitation'
    | 'model'
    | 'endpoint'
    | 'deployment'
    | 'payment_method'
    | 'budget'
    | 'team'
    | 'route'
  id: string | number
  name?: string | null | undefined
}

export interface RecordedAction {
  target?: AuditTarget | undefined
  /** Facts about the change, without secrets */
  details?: Record<string, unknown> | undefined
  /** The organization whose admins may read the row; the actor's current one by default */
  organizationId?: number | null | undefined
  result?: 'succeeded' | 'refused' | undefined
}

/** Audits a change in its transaction; a personal one in each organization of the person. */
export async function recordAction(
  db: Database,
  actor: Actor,
  action: AuditAction,
  { target, details = {}, organizationId = actor.organizationId, result = 'succeeded' }: RecordedAction = {},
): Promise<void> {
  const row = {
    actor_user_id: actor.userId,
    actor_email: actor.email,
    action,
    target_type: target?.type ?? null,
    target_id: target === undefined ? null : String(target.id),
    target_name: target?.name ?? null,
    address: actor.address,
    user_agent: actor.userAgent,
    result,
    details: JSON.stringify(details),
  }
  const person = target?.type === 'user' ? Number(target.id) : actor.userId
  const others = isPersonal(action) && person !== null ? await listOrganizationIds(db, person) : []
  const ids = [...new Set([organizationId, ...others])]
  const readers = ids.length > 1 ? ids.filter((id) => id !== null) : ids
  await db
    .insertInto('audit_log')
    .values(readers.map((id) => ({ organization_id: id, ...row })))
    .execute()
}

async function listOrganizationIds(db: Database, userId: number): Promise<number[]> {
  const rows = await db
    .selectFrom('memberships')
    .select('organization_id')
    .where('user_id', '=', userId)
    .execute()
  return rows.map((row) => row.organization_id)
}

/** More refusals a minute say nothing new, and a caller in a loop must not fill the table. */
const mostRefusalsPerMinute = { ofTarget: 3, inAll: 100 }

/** Records that an organization did not allow a change to the actor. */
export async function recordRefusal(db: Database, actor: Actor, target: AuditTarget): Promise<void> {
  const { ofTarget, inAll } = await db
    .selectFrom('audit_log')
    .select([
      sql<number>`count(*)`.as('inAll'),
      sql<number>`count(*) FILTER (WHERE target_type = ${target.type} AND target_id = ${String(target.id)})`.as(
        'ofTarget',
      ),
    ])
    .where('actor_user_id', '=', actor.userId)
    .where('result', '=', sql.lit('refused' as const))
    .where('at', '>', sql<Date>`now() - interval '1 minute'`)
    .executeTakeFirstOrThrow()
  if (ofTarget >= mostRefusalsPerMinute.ofTarget || inAll >= mostRefusalsPerMinute.inAll) return
  await recordAction(db, actor, 'permission.refused', { target, result: 'refused' })
}
