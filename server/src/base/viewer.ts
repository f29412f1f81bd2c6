import type { Network } from './network.ts'
import type { Standing } from './standing.ts'

/** The cause of a change and its address, for the audit log. Each viewer is an actor. */
export interface Actor {
  /** null for visitors, operators and the server itself */
  userId: number | null
  email: string | null
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

/** The right of a program to name the members it serves. */
export interface MemberNaming {
  /** The header besides `X-Berth-Member`, in lower case; null for none */
  header: string | null
}

/** A signed-in person, the organization in which they act, and their standing in each organization. */
export interface Person {
  userId: number
  organizationId: number
  standings: readonly Standing[]
}

/** The signed-in user who makes a request, with their standing in their current organization. */
export interface Viewer extends Actor, Standing, Person {
  userId: number
  email: string
  name: string
  organizationId: number
  requiresProfileCompletion: boolean
  /** True until the required verification of the email: the viewer can neither deploy nor invite. */
  requiresEmailVerification: boolean
  /** True with a second factor, and in a session of an identity provider, which is responsible for one */
  hasSecondFactor: boolean
  /** True for who may see the whole installation */
  isOperator: boolean
  /** Networks that a service member may work from; null for a person */
  allowedNetworks: readonly Network[] | null
  /** null without the right to name members, which only programs have */
  memberNaming: MemberNaming | null
  session: { id: number; expiresAt: Date; authMethod: string }
}
