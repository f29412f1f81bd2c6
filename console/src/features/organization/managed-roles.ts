import { useSuspenseQuery } from '@tanstack/react-query'
import type { Member } from '../../contract.ts'
import { organizationQuery } from '../../api/session.ts'

/** A member, in the dialogs that manage one */
export type ManagedMember = Pick<Member, 'id' | 'user_id' | 'name' | 'role' | 'kind'>

const managed: Record<Member['role'], readonly Member['role'][]> = {
  viewer: [],
  member: [],
  admin: ['viewer', 'member'],
  super_admin: ['viewer', 'member', 'admin', 'super_admin'],
}

/** The roles that the person may give to others and take from them in the current organization. */
export function useManagedRoles(): readonly Member['role'][] {
  const { data: organization } = useSuspenseQuery(organizationQuery)
  return managed[organization.role]
}
