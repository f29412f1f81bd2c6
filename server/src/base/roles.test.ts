import { expect, test } from 'vitest'
import { permissions, roleCan, roleIds } from './roles.ts'
import type { Permission, RoleName } from './roles.ts'

const roles: RoleName[] = ['viewer', 'member', 'admin', 'super_admin']

test('role ids in the API: 1 super_admin, 2 admin, 3 member, 4 viewer', () => {
  expect(roleIds).toEqual({ super_admin: 1, admin: 2, member: 3, viewer: 4 })
})

const lowestRoles = {
  readCatalog: 'viewer',
  readOwnDeployments: 'viewer',
  useOwnDeployments: 'viewer',
  createDeployments: 'member',
  terminateOwnDeployments: 'viewer',
  readOrganization: 'viewer',
  updateOrganization: 'admin',
  manageInvitations: 'admin',
  manageMembers: 'admin',
  manageDeployments: 'admin',
  manageModels: 'admin',
  readAuditLog: 'admin',
  readUsage: 'viewer',
  manageBilling: 'admin',
  manageSignIn: 'super_admin',
} as const satisfies Record<Permission, RoleName>

test.each(Object.entries(lowestRoles))('%s requires the role %s or a higher one', (permission, role) => {
  const allowed = roles.filter((each) => roleCan(each, permission as Permission))
  expect(allowed).toEqual(roles.slice(roles.indexOf(role)))
})

test('every role has all permissions of the roles below it', () => {
  for (const permission of Object.keys(permissions) as Permission[]) {
    const allowed = roles.map((role) => roleCan(role, permission))
    expect(allowed, permission).toEqual(allowed.toSorted((a, b) => Number(a) - Number(b)))
    expect(roleCan('super_admin', permission), permission).toBe(true)
  }
})
