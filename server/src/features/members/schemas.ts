import { z } from 'zod'
import { pathId, timestamp } from '../../http/schemas.ts'
import { roleIds } from '../../roles.ts'
import type { RoleName } from '../../roles.ts'
import type { HandOver } from './remove-member.ts'

export const memberParams = z.object({ member_id: pathId })

export const memberChangesBody = z
  .object({ role: z.enum(Object.keys(roleIds) as [RoleName, ...RoleName[]]) })
  .meta({ id: 'MemberChanges' })

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
    password: z.string().optional().describe('Required if the account has a password and SSO was not used'),
  })
  .meta({ id: 'AccountDeletion' })

const rows = z.array(z.record(z.string(), z.unknown()))

export const exportBody = z
  .object({
    exported_at: timestamp,
    account: z.record(z.string(), z.unknown()),
    memberships: rows,
    sessions: rows,
    second_factors: rows,
    deployments: rows,
    invitations: rows.describe('Invitations to you'),
    actions: rows.describe('What you did, from the audit log'),
  })
  .meta({ id: 'AccountExport' })
