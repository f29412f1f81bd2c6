import type { RoleName } from './roles.ts'

/** Who causes a change, and from where, for the audit log. Each viewer is an actor. */
export interface Actor {
  /** null for visitors, operators and the server itself */
  userId: number | null
  email: string | null
  /** The organization in which the actor acts */
  organizationId: number | null
  /** IP address of the caller; null without a request */
  address: string | null
  userAgent: string | null
}

/** The server itself, in background work. */
export const serverActor: Actor = {
  userId: null,
  email: null,
  organizationId: null,
  address: null,
  userAgent: null,
}

/** The signed-in user who makes a request, with their current organization and their role in it. */
export interface Viewer extends Actor {
  userId: number
  email: string
  name: string
  organizationId: number
  organizationName: string
  /** Members of a suspended or closed organization can only read. */
  organizationStatus: 'active' | 'suspended' | 'closed'
  role: RoleName
  requiresProfileCompletion: boolean
  /** True until the email is proven, if the installation requires that. The viewer can neither deploy nor invite until then. */
  requiresEmailVerification: boolean
  /** True for a user with a second factor, and for a session of an identity provider, which is responsible for one */
  hasSecondFactor: boolean
  /** True if the organization requires a second factor that the viewer lacks. Only personal routes work until then. */
  requiresSecondFactorSetup: boolean
  session: { id: number; expiresAt: Date; authMethod: string }
}
