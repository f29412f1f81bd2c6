import { z } from 'zod'
import {
  email,
  entityId,
  page,
  pageQuery,
  pathId,
  querySort,
  text,
  timestamp,
  toSearch,
} from '../../http/schemas.ts'
import { roleIds } from '../../base/roles.ts'
import type { RoleName } from '../../base/roles.ts'
import { peopleKinds, peopleOrders } from './people.ts'
import type { PeopleFilter, Person } from './people.ts'
import type { HandOver } from './remove-member.ts'

const roleName = z.enum(Object.keys(roleIds) as [RoleName, ...RoleName[]])

export const memberParams = z.object({
  member_id: pathId.describe('Id of the membership, as in the list of members'),
})

export const peopleQuery = pageQuery.extend({
  q: text({ min: 0, max: 256 }).optional().describe('Occurs in the name or the email'),
  role: roleName.optional().describe('Only this role'),
  kind: z.enum(peopleKinds).optional().describe('Only members, programs or invitations'),
  sort: querySort(peopleOrders)
    .default('name')
    .describe('The order, descending with `-`; `kind` begins with invitations'),
})

const personBody = z
  .object({
    kind: z.enum(peopleKinds).describe('`service` for a program'),
    id: entityId.describe('Id of the membership, or of the invitation'),
    user_id: entityId.nullable().describe('Id of the user; null for an invitation'),
    name: z.string().nullable().describe('Name of the user; null for an invitation'),
    email: email.describe('Email of the user or the invitee'),
    role: roleName.describe('Role in the organization'),
    second_factor: z
      .boolean()
      .nullable()
      .describe('Whether the person has a second factor; null for others if you are no admin'),
    last_active_at: timestamp
      .nullable()
      .describe('The hour of the latest request; null for others if you are no admin'),
    joined_at: timestamp.nullable().describe('Start of the membership; null for others if you are no admin'),
  })
  .meta({ id: 'OrganizationPerson', description: 'A person or program of an organization, or an invitation' })

export const peopleBody = page(personBody).meta({
  id: 'OrganizationPeople',
  description: 'A page of the people and programs of an organization',
})

type PeopleQuery = z.output<typeof peopleQuery>

export function toPeopleFilter({ q, role, kind }: PeopleQuery): PeopleFilter {
  return { search: toSearch(q), role: role ?? null, kind: kind ?? null }
}

export function toPersonBody(person: Person): z.infer<typeof personBody> {
  return {
    ...person,
    last_active_at: person.last_active_at?.toISOString() ?? null,
    joined_at: person.joined_at?.toISOString() ?? null,
  }
}

export const updateMemberBody = z
  .object({
    role: roleName.describe('The new role'),
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
