import { sql } from 'kysely'
import type { Database } from '../../database/tables.ts'
import type { Services } from '../../services.ts'
import type { Viewer } from '../../base/viewer.ts'
import { recordAction } from '../audit/record-action.ts'

/** Everything that Berth stores about the viewer, except secrets. It stores no content of requests. */
export async function exportData({ db, clock }: Pick<Services, 'db' | 'clock'>, viewer: Viewer) {
  const { userId, email, requiresEmailVerification } = viewer
  await recordAction(db, viewer, 'user.data_exported', { target: { type: 'user', id: userId, name: email } })
  return {
    exported_at: clock(),
    account: await readAccount(db, userId),
    memberships: await listMemberships(db, userId),
    identities: await listIdentities(db, userId),
    sessions: await listSessions(db, userId),
    second_factors: await listSecondFactors(db, userId),
    deployments: await listDeployments(db, userId),
    usage: await listUsage(db, userId),
    requests: await listRequests(db, userId),
    // Another person than the invitee may have registered the address.
    invitations: requiresEmailVerification ? [] : await listInvitations(db, userId),
    actions: await listActions(db, userId),
  }
}

function readAccount(db: Database, userId: number) {
  return db
    .selectFrom('users')
    .select(['id', 'email', 'email_verified_at', 'name', 'first_name', 'last_name', 'country'])
    .select(['contact_number', 'created_at', 'updated_at'])
    .select((select) =>
      select
        .selectFrom('recovery_codes')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .where('user_id', '=', userId)
        .as('recovery_codes_left'),
    )
    .where('id', '=', userId)
    .executeTakeFirstOrThrow()
}

function listMemberships(db: Database, userId: number) {
  return db
    .selectFrom('memberships')
    .innerJoin('organizations', 'organizations.id', 'memberships.organization_id')
    .select(['organizations.id as organization_id', 'organizations.name', 'role', 'joined_at'])
    .where('user_id', '=', userId)
    .orderBy('joined_at')
    .execute()
}

function listIdentities(db: Database, userId: number) {
  return db
    .selectFrom('identities')
    .select(['id', 'issuer', 'subject', 'linked_at'])
    .where('user_id', '=', userId)
    .orderBy('id')
    .execute()
}

function listSessions(db: Database, userId: number) {
  return db
    .selectFrom('sessions')
    .select([
      'id',
      'auth_method',
      'script_name as name',
      'created_at',
      'last_seen_at',
      'expires_at',
      'address',
    ])
    .select('user_agent')
    .where('user_id', '=', userId)
    .orderBy('id')
    .execute()
}

async function listSecondFactors(db: Database, userId: number) {
  const apps = db
    .selectFrom('totp_factors')
    .select([sql.lit('totp').as('method'), 'verified_at as added_at'])
    .select(sql<Date>`to_timestamp(last_used_step * 30.0)`.as('last_used_at'))
    .where('user_id', '=', userId)
    .where('verified_at', 'is not', null)
  const passkeys = db
    .selectFrom('passkeys')
    .select([sql.lit('passkey').as('method'), 'name', 'created_at as added_at', 'last_used_at'])
    .where('user_id', '=', userId)
    .orderBy('id')
  return (await Promise.all([apps.execute(), passkeys.execute()])).flat()
}

function listDeployments(db: Database, userId: number) {
  return db
    .selectFrom('deployments')
    .select(['id', 'organization_id', 'model_name', 'status', 'created_at', 'terminated_at'])
    .where('user_id', '=', userId)
    .orderBy('created_at')
    .execute()
}

/** The person's usage as a caller of deployments, including shared ones. */
function listUsage(db: Database, userId: number) {
  return db
    .selectFrom('token_usage')
    .select(['deployment_id', 'organization_id', 'model_name', 'hour', 'late_for', 'requests'])
    .select(['input_tokens', 'output_tokens', 'cached_tokens', 'processing_milliseconds'])
    .where('user_id', '=', userId)
    .orderBy('hour')
    .orderBy('deployment_id')
    .execute()
}

const mostRequests = 100_000

function listRequests(db: Database, userId: number) {
  return db
    .selectFrom('request_log')
    .select(['id', 'at', 'organization_id', 'deployment_id', 'model', 'route', 'status'])
    .select(['input_tokens', 'cached_tokens', 'output_tokens', 'first_token_ms', 'duration_ms'])
    .select(['client', 'retry', 'caller_left'])
    .where('user_id', '=', userId)
    .orderBy('at', 'desc')
    .limit(mostRequests)
    .execute()
}

function listInvitations(db: Database, userId: number) {
  return db
    .selectFrom('invitations')
    .select(['id', 'organization_id', 'invitee_email', 'role', 'status', 'created_at', 'responded_at'])
    .where(sql<boolean>`lower(invitee_email) = (SELECT lower(email) FROM users WHERE id = ${userId})`)
    .orderBy('id')
    .execute()
}

function listActions(db: Database, userId: number) {
  return db
    .selectFrom('audit_log')
    .select(['id', 'at', 'organization_id', 'action', 'target_type', 'target_id', 'target_name'])
    .select(['address', 'user_agent', 'result', 'details'])
    .where('actor_user_id', '=', userId)
    .orderBy('id')
    .execute()
}
