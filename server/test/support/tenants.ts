import { noRequirements } from '../../src/features/placement/choose-instance.ts'
import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { expect, vi } from 'vitest'
import type { Application } from '../../src/wiring/application.ts'
import { deriveLinkToken } from '../../src/features/mail/link-token.ts'
import { requestDeployment } from '../../src/features/deployments/changes/request.ts'
import { issueInvitationLink } from '../../src/features/invitations/lifecycle.ts'
import { insertInvitation } from '../../src/features/invitations/store.ts'
import type { RoleName } from '../../src/base/roles.ts'
import { serverActor } from '../../src/base/viewer.ts'
import type { Viewer } from '../../src/base/viewer.ts'
import { createClient, registerClient } from './client.ts'
import type { Client } from './client.ts'
import { startSsoServer } from './oidc-provider.ts'
import type { SsoServer } from './oidc-provider.ts'
import { joinClient } from './organizations.ts'
import { startAnsweringEngine } from './recording-engine.ts'
import { openSandboxTables } from './sandbox.ts'
import { startHubServer } from './hub/hub-server.ts'
import { makeRepositories } from './hub/test-repositories.ts'
import { createScriptedRuntime } from './scripted-runtime.ts'
import type { TestServer } from './server.ts'
import { openSession } from './sessions.ts'

export interface Actor {
  userId: number
  email: string
  name: string
  organizationId: number
  role: RoleName
}

/**
 * A tenant with a member of each role, and a stranger: the super_admin of another tenant. Each has a running
 * deployment.
 */
export interface Tenants {
  members: Record<RoleName, Actor>
  stranger: Actor
  deployments: Map<Actor, string>
}

/**
 * Starts a server with an identity provider, a hub, a worker and engines that answer, and creates the tenants
 * on it.
 */
export async function startTenants(): Promise<{
  server: SsoServer
  tenants: Tenants
  close(): Promise<void>
}> {
  const runtime = createScriptedRuntime()
  const engine = await startAnsweringEngine(runtime)
  const hub = await startHubServer(makeRepositories())
  const server = await startSsoServer({
    worker: true,
    runtime,
    settings: { HF_ENDPOINT: hub.origin, BILLING_POSTPAID_MAX_ACTIVE: '1000' },
  })
  return {
    server,
    tenants: await createTenants(server),
    async close() {
      await server.close()
      await engine.close()
      await hub.close()
    },
  }
}

/**
 * Creates the tenants. The first tenant's ids are large numbers that no other number in a response matches.
 */
async function createTenants(server: TestServer): Promise<Tenants> {
  const { db } = server.application
  const stranger = await toActor(server, await registerClient(server.url, { organization: 'Elsewhere & Co' }))
  const tables = ['organizations', 'users', 'memberships', 'invitations']
  for (const [index, table] of tables.entries()) {
    await sql`ALTER TABLE ${sql.table(table)} ALTER id RESTART WITH ${sql.lit(731_000_000 + index * 1_000_000)}`.execute(
      db,
    )
  }
  const owner = await registerClient(server.url, { organization: 'Analytical Engines', name: 'Ada Lovelace' })
  await owner.patch('/v1/organization', { description: 'Mills and stores' })
  const members = {
    viewer: await toActor(server, await joinClient(server, owner, 'viewer', { first_name: 'Vannevar' })),
    member: await toActor(server, await joinClient(server, owner, 'member', { first_name: 'Margaret' })),
    admin: await toActor(server, await joinClient(server, owner, 'admin', { first_name: 'Annabelle' })),
    super_admin: await toActor(server, owner),
  }
  const actors = [...Object.values(members), stranger]
  const deployments = new Map<Actor, string>()
  for (const actor of actors) deployments.set(actor, await deployFor(server, actor))
  for (const id of deployments.values()) await waitUntilRunning(server, id)
  return { members, stranger, deployments }
}

async function toActor(server: TestServer, client: Client): Promise<Actor> {
  const { user } = (await client.get('/v1/auth/session')).body
  const { id } = (await client.get('/v1/organization')).body
  return { userId: user.id, email: user.email, name: user.name, organizationId: id, role: user.role.name }
}

/** Creates a client with a new session of the actor, or without a session. */
export async function openClient(server: TestServer, actor: Actor | null): Promise<Client> {
  const client = createClient(server.url)
  if (actor !== null) {
    client.setCookie(`berth_session=${await openSession(server, actor.userId)}`)
  }
  return client
}

/** Creates a deployment of the actor, ignoring permissions. */
export async function deployFor({ application }: TestServer, actor: Actor): Promise<string> {
  const request = { modelName: 'berth-tiny' }
  const { id } = await requestDeployment(application, toViewer(actor), request, noRequirements)
  return id
}

export function toViewer({ email, name, organizationId, role, userId }: Actor): Viewer {
  const session = { id: 0, expiresAt: new Date(), authMethod: 'password' }
  const standing = {
    organizationId,
    organizationName: 'Tenant',
    organizationStatus: 'active',
    role,
    requiresSecondFactorSetup: false,
    teamIds: [],
    exhaustedTeams: [],
    callsBlockedUntil: null,
  } as const
  return {
    ...serverActor,
    ...standing,
    standings: [standing],
    email,
    name,
    userId,
    requiresProfileCompletion: false,
    requiresEmailVerification: false,
    hasSecondFactor: false,
    isOperator: false,
    allowedNetworks: null,
    memberNaming: null,
    session,
  }
}

export async function waitUntilRunning({ application: { db } }: TestServer, id: string): Promise<void> {
  await vi.waitFor(
    async () => {
      const row = await db.selectFrom('deployments').select('status').where('id', '=', id).executeTakeFirst()
      expect(row?.status).toBe('running')
    },
    { timeout: 30_000, interval: 50 },
  )
}

/**
 * Adds a pending invitation to the organization of `inviter`. Unlike the API, it accepts members as invitees.
 */
export async function addInvitation({ application }: TestServer, inviter: Actor, email: string) {
  const { db, secretKey, clock } = application
  const at = clock()
  const link = issueInvitationLink(secretKey, at)
  const { organizationId, userId: invitedByUserId } = inviter
  const id = await insertInvitation(db, { organizationId, email, invitedByUserId, role: 'viewer', at }, link)
  if (id === null) throw new Error(`an invitation to ${email} is already pending`)
  return { id, token: deriveLinkToken(secretKey, 'invitation', link.nonce) }
}

export function newEmail(): string {
  return `${randomBytes(6).toString('hex')}@example.com`
}

/**
 * Reads all rows of the first tenant that a request could change, with only the deployments from
 * `createTenants`.
 */
export async function readTenant({ application }: TestServer, tenants: Tenants) {
  const { db } = application
  const { organizationId } = tenants.members.super_admin
  const memberships = await db
    .selectFrom('memberships')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .orderBy('id')
    .execute()
  const userIds = memberships.map(({ user_id }) => user_id)
  return {
    memberships,
    organization: await db.selectFrom('organizations').selectAll().where('id', '=', organizationId).execute(),
    users: await db.selectFrom('users').selectAll().where('id', 'in', userIds).orderBy('id').execute(),
    invitations: await db
      .selectFrom('invitations')
      .selectAll()
      .where('organization_id', '=', organizationId)
      .orderBy('id')
      .execute(),
    deployments: await db
      .selectFrom('deployments')
      .select(['id', 'status', 'inference_model_uid'])
      .where('organization_id', '=', organizationId)
      .where('id', 'in', [...tenants.deployments.values()])
      .orderBy('id')
      .execute(),
    billing: await readBilling(application, organizationId),
  }
}

/** The billing account, and the processor's objects of its customer except sessions and invoices. */
async function readBilling(application: Application, organizationId: number) {
  const account = await application.db
    .selectFrom('billing_accounts')
    .select([
      'billing_mode',
      'status',
      'collection_method',
      'processor_customer_id',
      'processor_subscription_id',
    ])
    .where('organization_id', '=', organizationId)
    .executeTakeFirstOrThrow()
  const objects = await openSandboxTables(application)
    .selectFrom('objects')
    .select(['id', 'data'])
    .where('customer_id', '=', account.processor_customer_id)
    .where('type', 'in', ['customer', 'payment_method', 'subscription'])
    .orderBy('id')
    .execute()
  return { account, objects }
}
