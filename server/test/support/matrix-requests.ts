import { expect, vi } from 'vitest'
import { activatePostpaid } from '../../src/features/billing/activate.ts'
import { createPortalSession } from '../../src/features/billing/hosted-pages.ts'
import { getAccountOf } from '../../src/features/billing/store.ts'
import { serverActor } from '../../src/viewer.ts'
import type { Viewer } from '../../src/viewer.ts'
import { createClient, registerClient } from './client.ts'
import { callSandbox } from './sandbox.ts'
import { addInvitation, deployFor, newEmail, openClient } from './tenants.ts'
import type { Actor, Tenants } from './tenants.ts'
import type { TestServer } from './server.ts'

/** The path parameters and the body of a request. */
export interface MatrixRequest {
  parameters?: Record<string, string | number>
  body?: unknown
}

/** The caller of a request. Outsiders (anonymous and the stranger) request resources of the first tenant, the others their own. */
export interface Caller {
  server: TestServer
  tenants: Tenants
  /** null for an anonymous caller */
  actor: Actor | null
  isOutsider: boolean
}

type MakeRequest = (caller: Caller) => MatrixRequest | Promise<MatrixRequest>

const password = 'correct horse battery'
let nextContextTokens = 600

function findDeployment({ tenants, actor, isOutsider }: Caller): string {
  const owner = actor === null || isOutsider ? tenants.members.member : actor
  return tenants.deployments.get(owner)!
}

/** Adds an invitation to the first tenant: to the caller, or to a new email if the caller is an outsider. */
function addInvitationFor({ server, tenants, actor, isOutsider }: Caller) {
  const email = actor === null || isOutsider ? newEmail() : actor.email
  return addInvitation(server, tenants.members.super_admin, email)
}

const deployment: MakeRequest = (caller) => ({ parameters: { deployment_id: findDeployment(caller) } })

const answerByToken: MakeRequest = async (caller) => ({
  parameters: { token: (await addInvitationFor(caller)).token },
})

async function addOpenInvitation({ server, tenants }: Caller) {
  return addInvitation(server, tenants.members.super_admin, newEmail())
}

/** Adds a viewer to the first tenant and returns the id of the membership. */
async function addMember({ server, tenants }: Caller): Promise<number> {
  const { token } = await addInvitation(server, tenants.members.super_admin, newEmail())
  const { body } = await createClient(server.url).post('/v1/invitations/register', { token, password })
  const memberships = server.application.db.selectFrom('memberships').select('id')
  return (await memberships.where('user_id', '=', body.user.id).executeTakeFirstOrThrow()).id
}

/** Adds a card to the first tenant and returns its id. */
async function addCard({ server, tenants }: Caller): Promise<string> {
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

function toViewer({ email, name, organizationId, role, userId }: Actor): Viewer {
  const session = { id: 0, expiresAt: new Date(), authMethod: 'password' }
  const organization = { organizationId, organizationName: 'Tenant', organizationStatus: 'active' } as const
  return {
    ...serverActor,
    ...organization,
    email,
    name,
    role,
    userId,
    requiresProfileCompletion: false,
    requiresEmailVerification: false,
    hasSecondFactor: false,
    requiresSecondFactorSetup: false,
    session,
  }
}

/** Prepares a request of an operation such as `DELETE /v1/things/{thing_id}`: its method, its path with parameters, and its body. */
export async function prepareRequest(
  operation: string,
  caller: Caller,
): Promise<{ method: string; path: string; body: unknown }> {
  const request = (await matrixRequests[operation]?.(caller)) ?? {}
  const [method = '', pattern = ''] = operation.split(' ')
  const path = pattern.replaceAll(/\{(\w+)\}/g, (_match, parameter: string) => {
    const value = request.parameters?.[parameter]
    if (value === undefined) throw new Error(`matrixRequests gives no ${parameter} for ${operation}`)
    return String(value)
  })
  return { method, path, body: request.body }
}

/** Requests of the operations that need path parameters or a body. */
const matrixRequests: Record<string, MakeRequest> = {
  'POST /v1/user/register': () => ({ body: { email: newEmail(), password, organization: 'New' } }),
  'POST /v1/user/signin': async ({ server }) => {
    const { email, password } = await registerClient(server.url)
    return { body: { email, password } }
  },
  'POST /v1/user/password': () => ({
    body: { current_password: 'not my password', new_password: 'a longer engine' },
  }),
  'POST /v1/user/second-factors/totp': () => ({ body: { password: 'not my password' } }),
  'POST /v1/user/second-factors/totp/confirm': () => ({ body: { code: '000000' } }),
  'POST /v1/user/second-factors/passkeys/start': () => ({ body: { password: 'not my password' } }),
  'POST /v1/user/second-factors/passkeys': () => ({
    body: {
      name: 'Laptop',
      response: {
        id: 'a',
        rawId: 'a',
        type: 'public-key',
        response: { clientDataJSON: '', attestationObject: '' },
      },
    },
  }),
  'DELETE /v1/user/second-factors/passkeys/{passkey_id}': () => ({
    parameters: { passkey_id: 1 },
    body: { password: 'not my password' },
  }),
  'DELETE /v1/user/second-factors/totp': () => ({ body: { password: 'not my password' } }),
  'POST /v1/user/second-factors/recovery-codes': () => ({ body: { code: 'not my code' } }),
  'DELETE /v1/user': () => ({ body: { password: 'not my password' } }),
  'DELETE /v1/auth/sessions/{session_id}': async ({ server, tenants, actor, isOutsider }) => {
    const owner = actor === null || isOutsider ? tenants.members.member : actor
    const sessions = (await (await openClient(server, owner)).get('/v1/auth/sessions')).body
    return { parameters: { session_id: sessions[0].id } }
  },
  'PATCH /v1/user/profile': () => ({ body: { country: newEmail() } }),
  'POST /v1/auth/password-reset/request': ({ tenants }) => ({
    body: { email: tenants.members.super_admin.email },
  }),
  'POST /v1/auth/password-reset/confirm': () => ({ body: { token: 'A'.repeat(43), password } }),
  'POST /v1/user/email-verification/confirm': () => ({ body: { token: 'A'.repeat(43) } }),
  'GET /v1/sso/login/{sso_provider}': () => ({ parameters: { sso_provider: 'oidc' } }),
  'GET /v1/sso/callback/{sso_provider}': () => ({ parameters: { sso_provider: 'oidc' } }),
  'POST /v1/invitations/sso/{sso_provider}/start': async (caller) => ({
    parameters: { sso_provider: 'oidc' },
    body: { token: (await addOpenInvitation(caller)).token },
  }),
  'PATCH /v1/organization/members/{member_id}': async (caller) => ({
    parameters: { member_id: await addMember(caller) },
    body: { role: 'member' },
  }),
  'DELETE /v1/organization/members/{member_id}': async (caller) => ({
    parameters: { member_id: await addMember(caller) },
  }),
  'DELETE /v1/organization/invitations/{invitation_id}': async (caller) => ({
    parameters: { invitation_id: (await addOpenInvitation(caller)).id },
  }),
  'PATCH /v1/organization': () => ({ body: { description: newEmail() } }),
  'POST /v1/organization/invitations': () => ({ body: { email: newEmail() } }),
  'POST /v1/organization/invitations/{invitation_id}/resend': async (caller) => ({
    parameters: { invitation_id: (await addOpenInvitation(caller)).id },
  }),
  'POST /v1/organization/invitations/{invitation_id}/link': async (caller) => ({
    parameters: { invitation_id: (await addOpenInvitation(caller)).id },
  }),
  'GET /v1/invitations/by-token/{token}': async (caller) => ({
    parameters: { token: (await addOpenInvitation(caller)).token },
  }),
  'POST /v1/invitations/by-token/{token}/accept': answerByToken,
  'POST /v1/invitations/by-token/{token}/reject': answerByToken,
  'POST /v1/invitations/{invitation_id}/reject': async (caller) => ({
    parameters: { invitation_id: (await addInvitationFor(caller)).id },
  }),
  'POST /v1/invitations/register': async (caller) => ({
    body: { token: (await addOpenInvitation(caller)).token, password },
  }),
  'POST /v1/billing/subscription/activate-postpaid': async (caller) => ({
    body: { processor_payment_method_id: await addCard(caller) },
  }),
  'PATCH /v1/billing/subscription/collection-method': async (caller) => {
    const owner = toViewer(caller.tenants.members.super_admin)
    await activatePostpaid(caller.server.application, owner, await addCard(caller))
    return { body: { collection_method: 'send_invoice' } }
  },
  'PATCH /v1/billing/payment-methods/default': async (caller) => ({
    body: { processor_default_payment_method_id: await addCard(caller) },
  }),
  'DELETE /v1/billing/payment-methods/{payment_method_id}': async (caller) => ({
    parameters: { payment_method_id: await addCard(caller) },
  }),
  'POST /v1/billing/portal/session': () => ({ body: {} }),
  'POST /v1/billing/checkout/setup-session': () => ({ body: {} }),
  'POST /v1/billing/webhook': () => ({ body: { id: 'evt_1', type: 'invoice.paid' } }),
  'GET /v1/models/{model}': (caller) => ({ parameters: { model: findDeployment(caller) } }),
  'GET /api/v1/deployable-models/{model_id}': () => ({ parameters: { model_id: 'berth-tiny' } }),
  'POST /api/v1/model-deployments': () => ({ body: { model_name: 'berth-tiny' } }),
  'POST /api/v1/model-deployments/plan': () => ({ body: { model_name: 'berth-tiny' } }),
  'GET /api/v1/model-deployments/{deployment_id}': deployment,
  'PATCH /api/v1/model-deployments/{deployment_id}': (caller) => ({
    parameters: { deployment_id: findDeployment(caller) },
    // A new value each time: a change that changes nothing is not recorded.
    body: { min_context_tokens: nextContextTokens++ },
  }),
  'DELETE /api/v1/model-deployments/{deployment_id}': async (caller) => {
    const { actor, isOutsider, server } = caller
    const own = actor === null || isOutsider ? findDeployment(caller) : await deployFor(server, actor)
    return { parameters: { deployment_id: own } }
  },
  'GET /api/v1/model-deployments/{deployment_id}/events': deployment,
  'GET /api/v1/model-deployments/{deployment_id}/logs': deployment,
  'GET /api/v1/model-deployments/{deployment_id}/usage': deployment,
  'GET /api/v1/model-deployments/{deployment_id}/statistics': deployment,
  'POST /v1/chat/completions': (caller) => ({
    body: { model: findDeployment(caller), messages: [{ role: 'user', content: 'Hello' }] },
  }),
  'POST /v1/embeddings': (caller) => ({ body: { model: findDeployment(caller), input: 'Hello' } }),
}
