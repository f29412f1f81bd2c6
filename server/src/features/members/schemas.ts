import { z } from 'zod'
import { optionalField, pathId, timestamp } from '../../http/schemas.ts'
import { roleIds } from '../../base/roles.ts'
import type { RoleName } from '../../base/roles.ts'
import type { HandOver } from './remove-member.ts'

export const memberParams = z.object({
  member_id: pathId.describe('Id of the membership, as in the list of members'),
})

export const memberChangesBody = z
  .object({
    role: z.enum(Object.keys(roleIds) as [RoleName, ...RoleName[]]).describe('The new role'),
  })
  .meta({ id: 'MemberChanges', examples: [{ role: 'admin' }] })

export const handOverQuery = z
  .object({
    deployments: z
      .enum(['end', 'transfer'])
      .optional()
      .describe(
        'What happens to the deployments of the member. Without it, active deployments are a 409 `deployments_active`.',
      ),
    to: pathId.optional().describe('With `transfer`: the user who receives the deployments'),
  })
  .refine(({ deployments, to }) => (deployments === 'transfer') === (to !== undefined), {
    path: ['to'],
    error: 'Name the user who receives the deployments, with deployments=transfer only.',
  })

export function toHandOver({ deployments, to }: z.output<typeof handOverQuery>): HandOver {
  if (deployments === undefined) return null
  return deployments === 'end' ? { deployments } : { deployments, to: to! }
}

export const accountDeletionBody = z
  .object({
    password: optionalField(z.string()).describe(
      'Required if the account has a password and SSO was not used',
    ),
  })
  .meta({ id: 'AccountDeletion', examples: [{ password: 'correct horse battery' }] })

const rows = z.array(z.record(z.string(), z.unknown()))

export const exportBody = z
  .object({
    exported_at: timestamp.describe('Time of the export'),
    account: z.record(z.string(), z.unknown()).describe('Your account and profile'),
    memberships: rows.describe('Your organizations and roles'),
    identities: rows.describe('Your accounts at identity providers'),
    sessions: rows.describe('Your sessions'),
    second_factors: rows.describe('Your second factors, without their secrets'),
    deployments: rows.describe('Your deployments'),
    usage: rows.describe(
      'Your requests and tokens by deployment and hour, also of deployments that others share',
    ),
    invitations: rows.describe('Invitations to you'),
    actions: rows.describe('What you did, from the audit log'),
  })
  .meta({ id: 'AccountExport', description: 'Everything that this server stores about you' })
