import { z } from 'zod'
import { text, timestamp } from '../../http/schemas.ts'
import { permissions, permissionsOf, roleIds } from '../../roles.ts'
import type { Permission, RoleName } from '../../roles.ts'
import type { Member } from './members.ts'
import type { Organization, OwnOrganization } from './store.ts'

const roleName = z.enum(Object.keys(roleIds) as [RoleName, ...RoleName[]])
const permissionName = z.enum(Object.keys(permissions) as [Permission, ...Permission[]])

export const organizationChangesBody = z
  .object({
    name: text({ min: 1, max: 255 }).optional(),
    description: text({ min: 0, max: 2_000 }).nullable().optional().describe('null clears the description'),
    requires_second_factor: z
      .boolean()
      .optional()
      .describe('Only for a super_admin who has a second factor: 409 `no_second_factor`'),
  })
  .meta({ id: 'OrganizationChanges', examples: [{ name: 'Analytical Engines', description: null }] })

export const organizationBody = z
  .object({
    id: z.int(),
    name: z.string(),
    slug: z.string().describe('Unique, readable, permanent identifier'),
    description: z.string().nullable(),
    status: z.enum(['active', 'suspended', 'closed']),
    requires_second_factor: z
      .boolean()
      .describe('Whether members who sign in with a password need a second factor'),
    role: roleName.describe('Your role in this organization'),
    permissions: z.array(permissionName).describe('Your permissions in this organization'),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Organization' })

export const ownOrganizationBody = z
  .object({
    id: z.int(),
    name: z.string(),
    slug: z.string(),
    role: roleName.describe('Your role in this organization'),
    permissions: z.array(permissionName).describe('Your permissions in this organization'),
    current: z.boolean().describe('Whether this is your current organization'),
  })
  .meta({ id: 'OwnOrganization' })

export const ownOrganizationsBody = z.array(ownOrganizationBody)

export const memberBody = z
  .object({
    id: z.int().describe('ID of the membership'),
    user_id: z.int(),
    email: z.string(),
    name: z.string(),
    role: roleName,
    joined_at: timestamp,
  })
  .meta({ id: 'Member' })

export const membersBody = z.array(memberBody)

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
    role,
    permissions: permissionsOf(role),
    created_at: organization.created_at.toISOString(),
    updated_at: organization.updated_at.toISOString(),
  }
}

export function toOwnOrganizationBody(
  { id, name, slug, role }: OwnOrganization,
  currentId: number,
): z.infer<typeof ownOrganizationBody> {
  return { id, name, slug, role, permissions: permissionsOf(role), current: id === currentId }
}

export function toMemberBody(member: Member): z.infer<typeof memberBody> {
  return {
    id: member.id,
    user_id: member.user_id,
    email: member.email,
    name: member.name,
    role: member.role,
    joined_at: member.joined_at.toISOString(),
  }
}
