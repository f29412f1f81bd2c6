import { z } from 'zod'
import { email, entityId, text, timestamp } from '../../http/schemas.ts'
import { permissions, permissionsOf, roleIds } from '../../base/roles.ts'
import type { Permission, RoleName } from '../../base/roles.ts'
import type { Member } from './members.ts'
import type { Organization, OwnOrganization } from './store.ts'

const roleName = z.enum(Object.keys(roleIds) as [RoleName, ...RoleName[]])
const permissionName = z.enum(Object.keys(permissions) as [Permission, ...Permission[]])

export const updateOrganizationBody = z
  .object({
    name: text({ min: 1, max: 255 }).optional().describe('New name'),
    description: text({ min: 0, max: 10_000 }).nullable().optional().describe('null clears the description'),
    requires_second_factor: z
      .boolean()
      .optional()
      .describe('Only for a super_admin who has a second factor: 409 `no_second_factor`'),
    allow_external: z
      .boolean()
      .optional()
      .describe('false: no request reaches an endpoint, and no model of one is deployed'),
  })
  .meta({ id: 'OrganizationUpdate', examples: [{ name: 'Analytical Engines', description: null }] })

export const organizationBody = z
  .object({
    id: entityId.describe('Id of the organization'),
    name: z.string().describe('Name'),
    slug: z.string().describe('Unique, readable, permanent identifier'),
    description: z.string().nullable().describe('Text about the organization'),
    status: z
      .enum(['active', 'suspended', 'closed'])
      .describe('Members of a suspended or closed organization can only read'),
    requires_second_factor: z
      .boolean()
      .describe('Whether members who sign in with a password need a second factor'),
    allow_external: z.boolean().describe('Whether prompts may leave the server, for models of endpoints'),
    role: roleName.describe('Your role in this organization'),
    permissions: z.array(permissionName).describe('Your permissions in this organization'),
    created_at: timestamp.describe('Creation of the organization'),
    updated_at: timestamp.describe('Latest change'),
  })
  .meta({ id: 'Organization', description: 'An organization, with your role in it' })

export const ownOrganizationBody = z
  .object({
    id: entityId.describe('For `current_organization_id` in the profile'),
    name: z.string().describe('Name'),
    slug: z.string().describe('Unique, readable, permanent identifier'),
    role: roleName.describe('Your role in this organization'),
    permissions: z.array(permissionName).describe('Your permissions in this organization'),
    current: z.boolean().describe('Whether this is your current organization'),
    on_account_deletion: z
      .enum(['leave', 'close', 'refuse'])
      .describe(
        'What deleting your account does: you leave it; it closes, as no other person is in it; or 409 `last_super_admin`',
      ),
  })
  .meta({ id: 'OwnOrganization', description: 'An organization that you are a member of' })

export const ownOrganizationsBody = z.array(ownOrganizationBody).describe('Your organizations by name')

export const memberBody = z
  .object({
    id: entityId.describe('Id of the membership'),
    user_id: entityId.describe('Id of the user'),
    email: email.describe('Email of the user'),
    name: z.string().describe('Name of the user'),
    kind: z.enum(['person', 'service']).describe('`service` for a program'),
    role: roleName.describe('Role in the organization'),
    joined_at: timestamp.describe('Start of the membership'),
  })
  .meta({ id: 'Member', description: 'A member of an organization' })

export const membersBody = z.array(memberBody).describe('The members, earliest first')

export function toOrganizationBody(
  organization: Organization,
  role: RoleName,
): z.infer<typeof organizationBody> {
  return {
    id: organization.id,
    name: organization.name,
    slug: organization.slug,
    description: organization.description,
    status: organization.status,
    requires_second_factor: organization.requires_second_factor,
    allow_external: organization.allow_external,
    role,
    permissions: permissionsOf(role),
    created_at: organization.created_at.toISOString(),
    updated_at: organization.updated_at.toISOString(),
  }
}

export function toOwnOrganizationBody(
  { id, name, slug, role, onAccountDeletion }: OwnOrganization,
  currentId: number,
): z.infer<typeof ownOrganizationBody> {
  return {
    id,
    name,
    slug,
    role,
    permissions: permissionsOf(role),
    current: id === currentId,
    on_account_deletion: onAccountDeletion,
  }
}

export function toMemberBody(member: Member): z.infer<typeof memberBody> {
  return {
    id: member.id,
    user_id: member.user_id,
    email: member.email,
    name: member.name,
    kind: member.allowed_networks === null ? 'person' : 'service',
    role: member.role,
    joined_at: member.joined_at.toISOString(),
  }
}
