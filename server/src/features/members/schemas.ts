import { z } from 'zod'
import { pathId } from '../../http/schemas.ts'
import { roleIds } from '../../base/roles.ts'
import type { RoleName } from '../../base/roles.ts'
import type { HandOver } from './remove-member.ts'

export const memberParams = z.object({
  member_id: pathId.describe('Id of the membership, as in the list of members'),
})

export const updateMemberBody = z
  .object({
    role: z.enum(Object.keys(roleIds) as [RoleName, ...RoleName[]]).describe('The new role'),
  })
  .meta({ id: 'MemberUpdate', examples: [{ role: 'admin' }] })

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
