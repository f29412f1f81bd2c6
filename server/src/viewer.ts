import type { RoleName } from './roles.ts'

/** The signed-in user who makes a request, with their current organization and their role in it. */
export interface Viewer {
  userId: number
  email: string
  name: string
  organizationId: number
  organizationName: string
  role: RoleName
  requiresProfileCompletion: boolean
  session: { id: number; expiresAt: Date; authMethod: string }
}
