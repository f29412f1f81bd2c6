import type { AuditLogItem } from '../../../console/src/contract.ts'
import { connectClient } from '../api/connect.ts'
import type { Context } from '../base/context.ts'

/** Lists the members of the organization. */
export async function listMembers({ env, output }: Context): Promise<void> {
  const client = await connectClient(env)
  const members = await client.call('GET', '/v1/organization/members')
  output.result(members, () =>
    output.table(
      ['ID', 'EMAIL', 'NAME', 'KIND', 'ROLE', 'SINCE'],
      members.map(({ id, email, name, kind, role, joined_at: joined }) => [
        String(id),
        email,
        name,
        kind,
        role,
        joined.slice(0, 10),
      ]),
    ),
  )
}

/** Invites a person by email. */
export async function invite(
  { env, output }: Context,
  email: string,
  { role }: { role: 'viewer' | 'member' | 'admin' },
): Promise<void> {
  const client = await connectClient(env)
  const invitation = await client.call('POST', '/v1/organization/invitations', { body: { email, role } })
  output.result(invitation, () => {
    output.line(
      `Invited ${invitation.invitee_email} as ${role}. The invitation ends ${invitation.expires_at}.`,
    )
    if (invitation.email_status === 'failed') output.note(`The email failed: ${invitation.email_last_error}`)
  })
}

interface AuditOptions {
  limit: number
  action?: string
  from?: string
  to?: string
}

/** Shows who did what, newest first. */
export async function audit({ env, output }: Context, query: AuditOptions): Promise<void> {
  const client = await connectClient(env)
  const { items } = await client.call('GET', '/v1/organization/audit-log', { query })
  output.result(items, () =>
    output.table(['TIME', 'WHO', 'ACTION', 'WHAT', 'RESULT'], items.map(describeAction), 'No entries.'),
  )
}

function describeAction({ at, actor, action, target, result }: AuditLogItem): string[] {
  const what = target === null ? '' : `${target.type} ${target.name ?? target.id}`
  return [at, actor?.email ?? '', action, what, result]
}
