/** Roles within an organization, least to most privileged, with their ids in the API. */
export const roleIds = { viewer: 4, member: 3, admin: 2, super_admin: 1 } as const

export type RoleName = keyof typeof roleIds

/** The roles that an invitation can assign, least to most privileged. */
export const invitationRoles = ['viewer', 'member', 'admin'] as const satisfies readonly RoleName[]

export type InvitationRole = (typeof invitationRoles)[number]

/** The roles that a service member can have. */
export const serviceRoles = ['viewer', 'member'] as const satisfies readonly RoleName[]

export type ServiceRole = (typeof serviceRoles)[number]

const everyone: readonly RoleName[] = ['viewer', 'member', 'admin', 'super_admin']
const members: readonly RoleName[] = ['member', 'admin', 'super_admin']
const admins: readonly RoleName[] = ['admin', 'super_admin']
const superAdmins: readonly RoleName[] = ['super_admin']

/** The roles that have each permission. Every permission check uses this table. */
export const permissions = {
  readCatalog: everyone,
  readOwnDeployments: everyone,
  useOwnDeployments: everyone,
  terminateOwnDeployments: everyone,
  createDeployments: members,
  manageDeployments: admins,
  manageModels: admins,
  readOrganization: everyone,
  updateOrganization: admins,
  manageInvitations: admins,
  manageMembers: admins,
  readAuditLog: admins,
  readUsage: everyone,
  manageBilling: admins,
  manageSignIn: superAdmins,
} as const satisfies Record<string, readonly RoleName[]>

export type Permission = keyof typeof permissions

export function roleCan(role: RoleName, permission: Permission): boolean {
  return permissions[permission].includes(role)
}

/** The permissions of a role, in the order of the table. */
export function permissionsOf(role: RoleName): Permission[] {
  return (Object.keys(permissions) as Permission[]).filter((permission) => roleCan(role, permission))
}

/** The roles that a role may give and take: by invitation, by a change of role and by removal. */
export function managedRoles(role: RoleName): readonly RoleName[] {
  if (role === 'super_admin') return everyone
  return roleCan(role, 'manageMembers') ? rolesBelow(role) : []
}

/** The roles less privileged than `role`. */
export function rolesBelow(role: RoleName): RoleName[] {
  return everyone.slice(0, everyone.indexOf(role))
}
