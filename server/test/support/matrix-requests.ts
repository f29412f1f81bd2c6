import { activatePostpaid } from '../../src/features/billing/activate.ts'
import { createPortalSession } from '../../src/features/billing/hosted-pages.ts'
import { getAccountOf } from '../../src/features/billing/store.ts'
import type { Viewer } from '../../src/viewer.ts'
import { registerClient } from './client.ts'
import { askSandbox } from './sandbox.ts'
import { addInvitation, deployFor, newEmail } from './tenants.ts'
import type { Actor, Tenants } from './tenants.ts'
import type { TestServer } from './server.ts'

/** What fills an operation's address, and its body. */
export interface MatrixRequest {
  parameters?: Record<string, string | number>
  body?: unknown
}

/** Who asks: nobody and the stranger ask for what belongs to the first tenant, the others for their own. */
export interface Asking {
  server: TestServer
  tenants: Tenants
  /** Null for nobody */
  actor: Actor | null
  isOutsider: boolean
}

type MakeRequest = (asking: Asking) => MatrixRequest | Promise<MatrixRequest>

const password = 'correct horse battery'

function findDeployment({ tenants, actor, isOutsider }: Asking): string {
  const owner = actor === null || isOutsider ? tenants.members.member : actor
  return tenants.deployments.get(owner)!
}

/** An invitation into the first tenant: to the caller, or to somebody else where an outsider asks. */
function addInvitationFor({ server, tenants, actor, isOutsider }: Asking) {
  const email = actor === null || isOutsider ? newEmail() : actor.email
  return addInvitation(server, tenants.members.super_admin, email)
}

const deployment: MakeRequest = (asking) => ({ parameters: { deployment_id: findDeployment(asking) } })

const answerByToken: MakeRequest = async (asking) => ({
  parameters: { token: (await addInvitationFor(asking)).token },
})

async function addOpenInvitation({ server, tenants }: Asking) {
  return addInvitation(server, tenants.members.super_admin, newEmail())
}

/** A new card of the first tenant's. */
async function addCard({ server, tenants }: Asking): Promise<string> {
  const { application } = server
  const owner = tenants.members.super_admin
  await createPortalSession(application, toViewer(owner), undefined)
  const { processor_customer_id: customer } = await getAccountOf(application.db, owner.organizationId)
  const path = '/v1/payment_methods/pm_card_visa/attach'
  return (await askSandbox(server, 'POST', path, { customer: customer! })).id
}

function toViewer({ email, name, organizationId, role, userId }: Actor): Viewer {
  const session = { id: 0, expiresAt: new Date(), authMethod: 'password' }
  const organization = { organizationId, organizationName: 'Tenant' }
  return { ...organization, email, name, role, userId, requiresProfileCompletion: false, session }
}

/** The operations that need more than their address. */
export const matrixRequests: Record<string, MakeRequest> = {
  'POST /v1/user/register': () => ({ body: { email: newEmail(), password, organization: 'New' } }),
  'POST /v1/user/signin': async ({ server }) => {
    const { email, password } = await registerClient(server.url)
    return { body: { email, password } }
  },
  'PATCH /v1/user/profile': () => ({ body: { country: 'GB' } }),
  'POST /v1/auth/password-reset/request': ({ tenants }) => ({
    body: { email: tenants.members.super_admin.email },
  }),
  'POST /v1/auth/password-reset/confirm': () => ({ body: { token: 'A'.repeat(43), password } }),
  'GET /v1/sso/login/{sso_provider}': () => ({ parameters: { sso_provider: 'oidc' } }),
  'GET /v1/sso/callback/{sso_provider}': () => ({ parameters: { sso_provider: 'oidc' } }),
  'POST /v1/invitations/sso/{sso_provider}/start': async (asking) => ({
    parameters: { sso_provider: 'oidc' },
    body: { token: (await addOpenInvitation(asking)).token },
  }),
  'PATCH /v1/organization': () => ({ body: { description: newEmail() } }),
  'POST /v1/organization/invitations': () => ({ body: { email: newEmail() } }),
  'POST /v1/organization/invitations/{invitation_id}/resend': async (asking) => ({
    parameters: { invitation_id: (await addOpenInvitation(asking)).id },
  }),
  'GET /v1/invitations/by-token/{token}': async (asking) => ({
    parameters: { token: (await addOpenInvitation(asking)).token },
  }),
  'POST /v1/invitations/by-token/{token}/accept': answerByToken,
  'POST /v1/invitations/by-token/{token}/reject': answerByToken,
  'POST /v1/invitations/{invitation_id}/reject': async (asking) => ({
    parameters: { invitation_id: (await addInvitationFor(asking)).id },
  }),
  'POST /v1/invitations/register': async (asking) => ({
    body: { token: (await addOpenInvitation(asking)).token, password },
  }),
  'POST /v1/billing/subscription/activate-postpaid': async (asking) => ({
    body: { processor_payment_method_id: await addCard(asking) },
  }),
  'PATCH /v1/billing/subscription/collection-method': async (asking) => {
    const owner = toViewer(asking.tenants.members.super_admin)
    await activatePostpaid(asking.server.application, owner, await addCard(asking))
    return { body: { collection_method: 'send_invoice' } }
  },
  'PATCH /v1/billing/payment-methods/default': async (asking) => ({
    body: { processor_default_payment_method_id: await addCard(asking) },
  }),
  'DELETE /v1/billing/payment-methods/{payment_method_id}': async (asking) => ({
    parameters: { payment_method_id: await addCard(asking) },
  }),
  'POST /v1/billing/portal/session': () => ({ body: {} }),
  'POST /v1/billing/checkout/setup-session': () => ({ body: {} }),
  'POST /v1/billing/webhook': () => ({ body: { id: 'evt_1', type: 'invoice.paid' } }),
  'GET /api/v1/deployable-models/{model_id}': () => ({ parameters: { model_id: 'berth-tiny' } }),
  'POST /api/v1/model-deployments': () => ({ body: { model_name: 'berth-tiny' } }),
  'POST /api/v1/model-deployments/plan': () => ({ body: { model_name: 'berth-tiny' } }),
  'GET /api/v1/model-deployments/{deployment_id}': deployment,
  'DELETE /api/v1/model-deployments/{deployment_id}': async (asking) => {
    const { actor, isOutsider, server } = asking
    const own = actor === null || isOutsider ? findDeployment(asking) : await deployFor(server, actor)
    return { parameters: { deployment_id: own } }
  },
  'GET /api/v1/model-deployments/{deployment_id}/events': deployment,
  'GET /api/v1/model-deployments/{deployment_id}/logs': deployment,
  'GET /api/v1/model-deployments/{deployment_id}/usage': deployment,
  'GET /api/v1/model-deployments/{deployment_id}/statistics': deployment,
  'POST /v1/chat/completions': (asking) => ({
    body: { model: findDeployment(asking), messages: [{ role: 'user', content: 'Hello' }] },
  }),
  'POST /v1/embeddings': (asking) => ({ body: { model: findDeployment(asking), input: 'Hello' } }),
}
