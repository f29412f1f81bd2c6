import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { expect, vi } from 'vitest'
import { hashToken } from '../../src/base/hash-token.ts'
import type { RoleName } from '../../src/base/roles.ts'
import { createBudget } from '../../src/features/billing/budgets/manage-budgets.ts'
import { importModel } from '../../src/features/own-models/manage-models.ts'
import { startUpload } from '../../src/features/own-models/uploads/start-upload.ts'
import { setWebhook } from '../../src/features/alerts/manage-webhook.ts'
import { createPortalSession } from '../../src/features/billing/processor/hosted-pages.ts'
import { getAccountOf } from '../../src/features/billing/account/store.ts'
import { createOrganization } from '../../src/features/organizations/create-organization.ts'
import { createServiceMember } from '../../src/features/service-members/create-service-member.ts'
import { addEndpoint } from '../../src/features/endpoints/manage-endpoints.ts'
import { createTeam, setTeamMember } from '../../src/features/teams/manage-teams.ts'
import { createClient, registerClient } from './client.ts'
import type { Account } from './organizations.ts'
import { callSandbox } from './sandbox.ts'
import { addInvitation, newEmail, toViewer } from './tenants.ts'
import type { Actor, Tenants } from './tenants.ts'
import type { TestServer } from './server.ts'

/**
 * The caller of a request. Outsiders (anonymous and the stranger) request resources of the first tenant, the
 * others their own.
 */
export interface Caller {
  server: TestServer
  tenants: Tenants
  /** null for an anonymous caller */
  actor: Actor | null
  isOutsider: boolean
}

const password = 'correct horse battery'

export function findDeployment({ tenants, actor, isOutsider }: Caller): string {
  const owner = actor === null || isOutsider ? tenants.members.member : actor
  return tenants.deployments.get(owner)!
}

/** Adds an invitation to the first tenant: to the caller, or to a new email if the caller is an outsider. */
export function addInvitationFor({ server, tenants, actor, isOutsider }: Caller) {
  const email = actor === null || isOutsider ? newEmail() : actor.email
  return addInvitation(server, tenants.members.super_admin, email)
}

export async function addOpenInvitation({ server, tenants }: Caller) {
  return addInvitation(server, tenants.members.super_admin, newEmail())
}

/** Adds a person to the first tenant. */
export async function addMember({ server, tenants }: Caller, role: RoleName = 'viewer') {
  const email = newEmail()
  const { token } = await addInvitation(server, tenants.members.super_admin, email)
  const client = createClient(server.url)
  const { body } = await client.post('/v1/invitations/register', { token, password })
  const userId: number = body.user.id
  const { id } = await server.application.db
    .updateTable('memberships')
    .set({ role })
    .where('user_id', '=', userId)
    .returning('id')
    .executeTakeFirstOrThrow()
  return { ...client, email, password, userId, membershipId: id }
}

/** Registers a person with their own organization. */
export async function registerPerson(server: TestServer): Promise<Account & { userId: number }> {
  const account = await registerClient(server.url)
  return { ...account, userId: (await account.get('/v1/auth/session')).body.user.id }
}

/** Adds a person with the role of the caller, in another organization for the stranger. */
export async function addPerson(caller: Caller): Promise<Account & { userId: number }> {
  const { server, actor, isOutsider } = caller
  return actor !== null && isOutsider ? registerPerson(server) : addMember(caller, actor?.role)
}

/** Links an identity at a provider to an account and returns its id. */
export async function linkIdentity({ server }: Pick<Caller, 'server'>, email: string): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    INSERT INTO identities (issuer, subject, user_id, linked_at)
    SELECT 'https://id.example.com', email, id, now() FROM users WHERE email = ${email} RETURNING id`.execute(
    server.application.db,
  )
  return rows[0]!.id
}

/** Replaces the verification of a person's email and returns the token of its link. */
export async function addVerification({ server }: Caller, userId: number): Promise<string> {
  const token = randomUUID().padEnd(43, 'V')
  const link = { nonce: 'nonce', token_hash: hashToken(token), expires_at: new Date(Date.now() + 60_000) }
  await server.application.db
    .insertInto('email_verifications')
    .values({ user_id: userId, ...link })
    .onConflict((conflict) => conflict.column('user_id').doUpdateSet(link))
    .execute()
  return token
}

/** Proves an address whose domain opens another organization. */
export async function openDomain({ server }: Caller, userId: number): Promise<void> {
  const { db } = server.application
  const domain = `${randomUUID()}.test`
  const organizationId = await createOrganization(db, 'Domain')
  await db
    .insertInto('organization_domains')
    .values({ domain, organization_id: organizationId, role: 'member' })
    .execute()
  await db
    .updateTable('users')
    .set({ email: `ada@${domain}`, email_verified_at: new Date() })
    .where('id', '=', userId)
    .execute()
}

/** Adds a service member to the first tenant and returns the id of the membership. */
export async function addServiceMember({ server, tenants }: Caller): Promise<number> {
  const owner = toViewer(tenants.members.super_admin)
  const settings = { allowed_networks: ['127.0.0.0/8'], may_name_members: false, member_header: null }
  const program = { name: 'Nightly report', role: 'member', ...settings } as const
  return (await createServiceMember(server.application, owner, program)).member.id
}

/** Adds a team with a member to the first tenant. */
export async function addTeam(caller: Caller): Promise<{ id: number; userId: number }> {
  const { application } = caller.server
  const owner = toViewer(caller.tenants.members.super_admin)
  const { id } = await createTeam(application, owner, { name: newEmail(), managedBy: null })
  const { userId } = await addMember(caller)
  await setTeamMember(application, owner, { id, userId, belongs: true })
  return { id, userId }
}

/** Replaces the budget of the first tenant's organization and returns its id. */
export async function addBudget({ server, tenants }: Caller): Promise<number> {
  const { application } = server
  const owner = toViewer(tenants.members.super_admin)
  await application.db.deleteFrom('budgets').execute()
  const terms = { monthlyLimit: '1000', atLimit: 'notify' } as const
  const { budget } = await createBudget(application, owner, { scope: 'organization', scopeId: null }, terms)
  return budget.id
}

export function newModelName(): string {
  return `model-${randomUUID()}`
}

/** Adds a model to the first tenant's organization and returns its id. */
export async function addModel({ server, tenants }: Caller): Promise<string> {
  const owner = toViewer(tenants.members.super_admin)
  const request = {
    name: 'acme/Small-GGUF',
    revision: 'main',
    token: undefined,
    baseModel: undefined,
    modelName: newModelName(),
    managedBy: null,
  }
  return (await importModel(server.application, owner, request)).id
}

/** Nothing has this port of the server's own machine, which endpoints may not reach either. */
export const unreachableEndpoint = 'https://localhost:1'

/** Adds an endpoint to the first tenant and returns its id. */
export async function addEndpointOf({ server, tenants }: Caller): Promise<string> {
  const settings = { name: newEmail(), baseUrl: unreachableEndpoint, key: 'sk-secret' }
  const rest = { header: null, models: null, prices: null }
  const owner = toViewer(tenants.members.super_admin)
  return (await addEndpoint(server.application, owner, { ...settings, ...rest })).endpoint.id
}

/** Starts an upload to the first tenant and returns its id. */
export async function addUpload({ server, tenants }: Caller): Promise<string> {
  const owner = toViewer(tenants.members.super_admin)
  const announced = { fileName: 'model.gguf', bytes: 100, sha256: null }
  return (await startUpload(server.application, owner, announced)).id
}

/** Replaces the webhook of the first tenant's organization. No name below `invalid` has an address. */
export async function addWebhook({ server, tenants }: Caller): Promise<void> {
  const { application } = server
  await application.db.deleteFrom('webhook_messages').execute()
  await application.db.deleteFrom('webhooks').execute()
  await setWebhook(application, toViewer(tenants.members.super_admin), 'https://alerts.example.invalid/berth')
}

/** Adds a card to the first tenant and returns its id. */
export async function addCard({ server, tenants }: Caller): Promise<string> {
  const { application } = server
  const owner = tenants.members.super_admin
  await createPortalSession(application, toViewer(owner), undefined)
  const { processor_customer_id: customer } = await getAccountOf(application.db, owner.organizationId)
  const path = '/v1/payment_methods/pm_card_visa/attach'
  const { id } = await callSandbox(application, 'POST', path, { customer: customer! })
  // A worker makes the first card the default one, which must not look like the effect of a request.
  await vi.waitFor(
    async () => {
      const { invoice_settings: settings } = await callSandbox(
        application,
        'GET',
        `/v1/customers/${customer}`,
      )
      expect(settings.default_payment_method).not.toBeNull()
    },
    { timeout: 30_000, interval: 20 },
  )
  return id
}
