import type { RoleName } from './roles.ts'

/** Who is asking: a signed-in user in the organization that is current for them, with the role that counts there. */
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
