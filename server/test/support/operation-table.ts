import { registerClient } from './client.ts'
import type { Client } from './client.ts'
import {
  addBudget,
  addEndpointOf,
  addWebhook,
  addCard,
  addInvitationFor,
  addMember,
  addServiceMember,
  addTeam,
  unreachableEndpoint,
  addModel,
  addOpenInvitation,
  addPerson,
  addUpload,
  addVerification,
  openDomain,
  findDeployment,
  linkIdentity,
  newModelName,
  registerPerson,
} from './matrix-resources.ts'
import type { Caller } from './matrix-resources.ts'
import { addPasskey, createAuthenticator } from './passkeys.ts'
import { insertReset } from './password-resets.ts'
import { addTotp, startTotp } from './second-factors.ts'
import { activatePostpaid } from '../../src/features/billing/processor/activate.ts'
import { insertBenchmark } from '../../src/features/benchmarks/store.ts'
import { putToSleepFor } from '../../src/features/deployments/changes/sleep.ts'
import { deployFor, newEmail, openClient, toViewer, waitUntilRunning } from './tenants.ts'
import { tusHeaders } from './tus.ts'

/** The callers of each operation. The stranger is super_admin of another organization. */
export type ActorName = 'anonymous' | 'viewer' | 'member' | 'admin' | 'super_admin' | 'stranger'

interface OperationRow {
  statuses: Record<ActorName, number>
  /** The action in the audit log; null if the operation records none */
  audit: string | null
}

/**
 * Every operation of the API with its status for each caller and the action that it records. Anonymous and
 * the stranger request resources of the tenant, the others their own. A 200 or 201 for the stranger on a path
 * without an id is about their own. A changing operation that records nothing is in `notRecorded` too.
 */
export const operationTable: ReadonlyMap<string, OperationRow> = parseTable(`
                                                                anonymous  viewer  member  admin  super_admin  stranger  audit
  GET    /healthz                                               200        200     200     200    200          200       -
  GET    /health                                                200        200     200     200    200          200       -
  GET    /version                                               200        200     200     200    200          200       -
  GET    /readyz                                                200        200     200     200    200          200       -
  GET    /metrics                                               200        200     200     200    200          200       -
  GET    /v1/installation                                       200        200     200     200    200          200       -
  GET    /v1/installation/machines                              401        403     403     403    403          403       -
  GET    /v1/installation/waiting                               401        403     403     403    403          403       -
  GET    /v1/installation/weights                               401        403     403     403    403          403       -
  GET    /v1/installation/health                                401        403     403     403    403          403       -
  GET    /v1/installation/organizations                         401        403     403     403    403          403       -
  GET    /v1/installation/organizations/{organization_id}       401        403     403     403    403          403       -
  GET    /v1/installation/findings                              401        403     403     403    403          403       -
  POST   /v1/user/register                                      200        200     200     200    200          200       user.registered
  POST   /v1/user/signin                                        200        200     200     200    200          200       session.started
  POST   /v1/user/logout                                        401        200     200     200    200          200       session.ended
  POST   /v1/user/password                                      401        204     204     204    204          204       user.password_changed
  GET    /v1/user/second-factors                                401        200     200     200    200          200       -
  POST   /v1/user/second-factors/totp                           401        200     200     200    200          200       user.second_factor_started
  POST   /v1/user/second-factors/totp/verify                    401        200     200     200    200          200       user.second_factor_added
  DELETE /v1/user/second-factors/totp                           401        204     204     204    204          204       user.second_factor_deleted
  POST   /v1/user/second-factors/recovery-codes                 401        200     200     200    200          200       user.recovery_codes_rotated
  POST   /v1/user/second-factors/passkeys/start                 401        200     200     200    200          200       user.second_factor_started
  POST   /v1/user/second-factors/passkeys                       401        200     200     200    200          200       user.second_factor_added
  POST   /v1/user/second-factors/passkeys/challenge             401        200     200     200    200          200       -
  DELETE /v1/user/second-factors/passkeys/{passkey_id}          401        204     204     204    204          204       user.second_factor_deleted
  GET    /v1/user/identities                                    401        200     200     200    200          200       -
  DELETE /v1/user/identities/{identity_id}                      401        204     204     204    204          204       user.identity_unlinked
  GET    /v1/user/domain-organization                           401        200     200     200    200          200       -
  POST   /v1/user/domain-organization                           401        204     204     204    204          204       member.joined
  GET    /v1/user/export                                        401        200     200     200    200          200       -
  DELETE /v1/user                                               401        204     204     204    204          204       user.deleted
  GET    /v1/auth/sessions                                      401        200     200     200    200          200       -
  POST   /v1/auth/sessions                                      401        201     201     201    201          201       session.created_for_scripts
  DELETE /v1/auth/sessions                                      401        204     204     204    204          204       session.ended
  DELETE /v1/auth/sessions/{session_id}                         401        204     204     204    204          404       session.ended
  GET    /v1/user/organizations                                 401        200     200     200    200          200       -
  POST   /v1/user/email-verification/request                    401        200     200     200    200          200       user.email_verification_requested
  POST   /v1/user/email-verification/confirm                    401        200     200     200    200          200       user.email_verified
  GET    /v1/user/profile                                       401        200     200     200    200          200       -
  PATCH  /v1/user/profile                                       401        200     200     200    200          200       user.updated
  GET    /v1/auth/session                                       401        200     200     200    200          200       -
  POST   /v1/auth/password-reset/request                        200        200     200     200    200          200       user.password_reset_requested
  POST   /v1/auth/password-reset/confirm                        200        200     200     200    200          200       user.password_reset
  GET    /v1/sso/providers                                      200        200     200     200    200          200       -
  GET    /v1/sso/login/{sso_provider}                           302        302     302     302    302          302       -
  GET    /v1/sso/callback/{sso_provider}                        302        302     302     302    302          302       -
  POST   /v1/sso/backchannel-logout/{sso_provider}              400        400     400     400    400          400       -

  GET    /v1/organization                                       401        200     200     200    200          200       -
  PATCH  /v1/organization                                       401        403     403     200    200          200       organization.updated
  GET    /v1/organization/members                               401        200     200     200    200          200       -
  GET    /v1/organization/people                                401        200     200     200    200          200       -
  PATCH  /v1/organization/members/{member_id}                   401        403     403     200    200          404       member.role_changed
  DELETE /v1/organization/members/{member_id}                   401        403     403     204    204          404       member.removed
  GET    /v1/organization/service-members                       401        403     403     200    200          200       -
  POST   /v1/organization/service-members                       401        403     403     200    200          200       service_member.created
  PATCH  /v1/organization/service-members/{member_id}           401        403     403     200    200          404       service_member.updated
  POST   /v1/organization/service-members/{member_id}/rotate    401        403     403     200    200          404       service_member.password_rotated
  GET    /v1/organization/teams                                 401        200     200     200    200          200       -
  POST   /v1/organization/teams                                 401        403     403     200    200          200       team.created
  PATCH  /v1/organization/teams/{team_id}                       401        403     403     200    200          404       team.updated
  DELETE /v1/organization/teams/{team_id}                       401        403     403     204    204          404       team.deleted
  PUT    /v1/organization/teams/{team_id}/members/{user_id}     401        403     403     204    204          404       team.member_added
  DELETE /v1/organization/teams/{team_id}/members/{user_id}     401        403     403     204    204          404       team.member_removed
  POST   /v1/organization/leave                                 401        204     204     204    204          409       member.left
  GET    /v1/organization/invitations                           401        403     403     200    200          200       -
  POST   /v1/organization/invitations                           401        403     403     200    200          200       invitation.created
  POST   /v1/organization/invitations/{invitation_id}/resend    401        403     403     200    200          404       invitation.resent
  POST   /v1/organization/invitations/{invitation_id}/link      401        403     403     200    200          404       invitation.link_copied
  DELETE /v1/organization/invitations/{invitation_id}           401        403     403     200    200          404       invitation.cancelled
  GET    /v1/organization/alert-webhook                         401        403     403     200    200          404       -
  PATCH  /v1/organization/alert-webhook                         401        403     403     200    200          200       webhook.updated
  DELETE /v1/organization/alert-webhook                         401        403     403     204    204          404       webhook.deleted
  POST   /v1/organization/alert-webhook/secret                  401        403     403     200    200          404       webhook.secret_rotated
  POST   /v1/organization/alert-webhook/test                    401        403     403     200    200          404       webhook.tested
  GET    /v1/organization/audit-log                             401        403     403     200    200          200       -
  GET    /v1/invitations                                        401        200     200     200    200          200       -
  POST   /v1/invitations/{invitation_id}/reject                 401        200     200     200    200          404       invitation.rejected
  POST   /v1/invitations/by-token/{token}/accept                401        200     200     200    200          403       invitation.accepted
  POST   /v1/invitations/by-token/{token}/reject                401        200     200     200    200          403       invitation.rejected
  GET    /v1/invitations/by-token/{token}                       200        200     200     200    200          200       -
  POST   /v1/invitations/register                               200        200     200     200    200          200       invitation.accepted
  POST   /v1/invitations/sso/{sso_provider}/start               200        200     200     200    200          200       -

  GET    /v1/billing/config                                     401        200     200     200    200          200       -
  GET    /v1/billing/account                                    401        403     403     200    200          200       -
  GET    /v1/billing/usage-summary                              401        200     200     200    200          200       -
  GET    /v1/billing/usage                                      401        200     200     200    200          200       -
  GET    /v1/requests                                           401        200     200     200    200          200       -
  GET    /v1/events                                             401        200     200     200    200          200       -
  GET    /v1/billing/usage/proof                                401        403     403     200    200          200       -
  GET    /v1/billing/anomalies                                  401        403     403     200    200          200       -
  GET    /v1/billing/subscription                               401        403     403     200    200          200       -
  POST   /v1/billing/subscription/activate-postpaid             401        403     403     200    200          404       billing_account.activation_started
  PATCH  /v1/billing/subscription/collection-method             401        403     403     200    200          409       billing_account.changed
  GET    /v1/billing/payment-methods                            401        403     403     200    200          200       -
  PATCH  /v1/billing/payment-methods/default                    401        403     403     200    200          404       payment_method.made_default
  DELETE /v1/billing/payment-methods/{payment_method_id}        401        403     403     204    204          404       payment_method.deleted
  POST   /v1/billing/portal/session                             401        403     403     200    200          200       billing_portal.opened
  POST   /v1/billing/checkout/setup-session                     401        403     403     200    200          200       checkout.started
  GET    /v1/billing/invoices                                   401        403     403     200    200          200       -
  GET    /v1/billing/invoices/{invoice_id}/proof                401        403     403     404    404          404       -
  GET    /v1/billing/budgets                                    401        403     403     200    200          200       -
  POST   /v1/billing/budgets                                    401        403     403     200    200          200       budget.created
  PATCH  /v1/billing/budgets/{budget_id}                        401        403     403     200    200          404       budget.updated
  DELETE /v1/billing/budgets/{budget_id}                        401        403     403     204    204          404       budget.deleted
  GET    /v1/billing/own-budgets                                401        200     200     200    200          200       -
  POST   /v1/billing/webhook                                    400        400     400     400    400          400       -

  GET    /api/v1/deployable-models                              401        200     200     200    200          200       -
  GET    /api/v1/deployable-models/{model_id}                   401        200     200     200    200          200       -
  GET    /api/v1/weights                                        401        200     200     200    200          200       -
  GET    /api/v1/endpoints                                      401        200     200     200    200          200       -
  POST   /api/v1/endpoints                                      401        403     403     201    201          201       endpoint.created
  GET    /api/v1/endpoints/{endpoint_id}                        401        200     200     200    200          404       -
  PATCH  /api/v1/endpoints/{endpoint_id}                        401        403     403     200    200          404       endpoint.updated
  DELETE /api/v1/endpoints/{endpoint_id}                        401        403     403     204    204          404       endpoint.deleted
  POST   /api/v1/endpoints/{endpoint_id}/check                  401        403     403     200    200          404       endpoint.checked
  POST   /api/v1/deployable-models/inspect                      401        403     200     200    200          200       -
  POST   /api/v1/deployable-models                              401        403     403     201    201          201       model.imported
  PATCH  /api/v1/deployable-models/{model_id}                   401        403     403     200    200          404       model.updated
  DELETE /api/v1/deployable-models/{model_id}                   401        403     403     204    204          404       model.deleted
  GET    /api/v1/model-uploads                                  401        403     403     200    200          200       -
  POST   /api/v1/model-uploads                                  401        403     403     201    201          201       model.upload_started
  PATCH  /api/v1/model-uploads/{upload_id}                      401        403     403     204    204          404       -
  DELETE /api/v1/model-uploads/{upload_id}                      401        403     403     204    204          404       model.upload_deleted
  GET    /api/v1/model-files/{file_name}                        401        401     401     401    401          401       -
  GET    /api/v1/placements                                     401        200     200     200    200          200       -
  GET    /api/v1/model-deployments                              401        200     200     200    200          200       -
  POST   /api/v1/model-deployments                              401        403     201     201    201          201       deployment.created
  POST   /api/v1/model-deployments/plan                         401        200     200     200    200          200       -
  GET    /api/v1/model-deployments/{deployment_id}              401        200     200     200    200          404       -
  PATCH  /api/v1/model-deployments/{deployment_id}              401        403     200     200    200          404       deployment.updated
  DELETE /api/v1/model-deployments/{deployment_id}              401        200     200     200    200          404       deployment.terminated
  POST   /api/v1/model-deployments/{deployment_id}/sleep        401        403     200     200    200          404       deployment.put_to_sleep
  POST   /api/v1/model-deployments/{deployment_id}/wake         401        403     200     200    200          404       deployment.woken
  GET    /api/v1/model-deployments/summary                      401        200     200     200    200          200       -
  GET    /api/v1/model-deployments/{deployment_id}/events       401        200     200     200    200          404       -
  GET    /api/v1/model-deployments/{deployment_id}/activity     401        200     200     200    200          404       -
  GET    /api/v1/model-deployments/{deployment_id}/logs         401        200     200     200    200          404       -
  GET    /api/v1/model-deployments/{deployment_id}/usage        401        200     200     200    200          404       -
  GET    /api/v1/model-deployments/{deployment_id}/statistics   401        200     200     200    200          404       -
  GET    /api/v1/model-deployments/{deployment_id}/requests     401        200     200     200    200          404       -
  POST   /api/v1/model-deployments/{deployment_id}/benchmarks   401        201     201     201    201          404       -
  GET    /api/v1/model-deployments/{deployment_id}/benchmarks   401        200     200     200    200          404       -
  GET    /api/v1/model-deployments/{deployment_id}/benchmarks/{number} 401 200     200     200    200          404       -
  DELETE /api/v1/model-deployments/{deployment_id}/benchmarks/{number} 401 200     200     200    200          404       -
  GET    /v1/models                                             401        200     200     200    200          200       -
  GET    /v1/models/{model}                                     401        200     200     200    200          404       -
  POST   /v1/chat/completions                                   401        200     200     200    200          404       -
  POST   /v1/completions                                        401        200     200     200    200          404       -
  POST   /v1/embeddings                                         401        400     400     400    400          404       -
  POST   /v1/rerank                                             401        400     400     400    400          404       -
  POST   /v2/rerank                                             401        400     400     400    400          404       -
  POST   /rerank                                                401        400     400     400    400          404       -
  POST   /v1/responses                                          401        200     200     200    200          404       -
  POST   /v1/messages                                           401        200     200     200    200          404       -
  POST   /v1/messages/count_tokens                              401        200     200     200    200          404       -
  POST   /tokenize                                              401        200     200     200    200          404       -
`)

/** Changing operations that record nothing, each with the reason. */
export const notRecorded: Record<string, string> = {
  'POST /v1/invitations/sso/{sso_provider}/start': 'changes nothing until the callback, which is recorded',
  'POST /v1/sso/backchannel-logout/{sso_provider}':
    'an invalid token changes nothing; a valid one records session.ended',
  'POST /v1/billing/webhook':
    'an unsigned event changes nothing; a signed one records billing_account.changed',
  'POST /v1/user/second-factors/passkeys/challenge': 'changes nothing until its signature is used',
  'POST /api/v1/model-deployments/plan': 'changes nothing',
  'POST /api/v1/deployable-models/inspect': 'changes nothing',
  'PATCH /api/v1/model-uploads/{upload_id}': 'the start of the upload is recorded',
  'POST /api/v1/model-deployments/{deployment_id}/benchmarks': 'inference is metered',
  'DELETE /api/v1/model-deployments/{deployment_id}/benchmarks/{number}':
    'the benchmark says that it was stopped',
  'POST /v1/chat/completions': 'inference is metered',
  'POST /v1/completions': 'inference is metered',
  'POST /v1/embeddings': 'inference is metered',
  'POST /v1/rerank': 'inference is metered',
  'POST /v2/rerank': 'inference is metered',
  'POST /rerank': 'inference is metered',
  'POST /v1/responses': 'inference is metered',
  'POST /v1/messages': 'inference is metered',
  'POST /v1/messages/count_tokens': 'changes nothing',
  'POST /tokenize': 'changes nothing',
}

/** Operations that concern people and refuse service members. */
export const peopleOnly: ReadonlySet<string> = new Set([
  'POST /v1/user/password',
  'GET /v1/installation/machines',
  'GET /v1/installation/waiting',
  'GET /v1/installation/weights',
  'GET /v1/installation/health',
  'GET /v1/installation/organizations',
  'GET /v1/installation/organizations/{organization_id}',
  'GET /v1/installation/findings',
  'GET /v1/user/second-factors',
  'POST /v1/user/second-factors/totp',
  'POST /v1/user/second-factors/totp/verify',
  'DELETE /v1/user/second-factors/totp',
  'POST /v1/user/second-factors/recovery-codes',
  'POST /v1/user/second-factors/passkeys/start',
  'POST /v1/user/second-factors/passkeys',
  'POST /v1/user/second-factors/passkeys/challenge',
  'DELETE /v1/user/second-factors/passkeys/{passkey_id}',
  'GET /v1/user/identities',
  'DELETE /v1/user/identities/{identity_id}',
  'GET /v1/user/domain-organization',
  'POST /v1/user/domain-organization',
  'GET /v1/user/export',
  'DELETE /v1/user',
  'GET /v1/auth/sessions',
  'POST /v1/auth/sessions',
  'DELETE /v1/auth/sessions',
  'DELETE /v1/auth/sessions/{session_id}',
  'POST /v1/user/email-verification/request',
  'POST /v1/user/email-verification/confirm',
  'GET /v1/user/profile',
  'PATCH /v1/user/profile',
  'POST /v1/organization/leave',
  'GET /v1/invitations',
  'POST /v1/invitations/{invitation_id}/reject',
  'POST /v1/invitations/by-token/{token}/accept',
  'POST /v1/invitations/by-token/{token}/reject',
])

function parseTable(table: string): Map<string, OperationRow> {
  const [header = '', ...lines] = table.split('\n').filter((line) => line.trim() !== '')
  const actors = header.trim().split(/\s+/).slice(0, -1) as ActorName[]
  return new Map(
    lines.map((line) => {
      const [method, path, ...cells] = line.trim().split(/\s+/)
      const audit = cells.pop()!
      const statuses = Object.fromEntries(actors.map((actor, index) => [actor, Number(cells[index])]))
      const row = { statuses: statuses as Record<ActorName, number>, audit: audit === '-' ? null : audit }
      return [`${method} ${path}`, row]
    }),
  )
}

/** The path parameters and the body of a request. */
export interface OperationRequest {
  parameters?: Record<string, string | number>
  query?: Record<string, string>
  body?: unknown
  headers?: Record<string, string>
  /** Sends the request in place of the caller, unless that is anonymous */
  person?: Client
}

type MakeRequest = (caller: Caller) => OperationRequest | Promise<OperationRequest>

const password = 'correct horse battery'
let nextContextTokens = 600

/**
 * Returns a running deployment of the caller that no other request needs, or the first tenant's for one who
 * has none.
 */
async function deployOwn(caller: Caller): Promise<string> {
  const { actor, isOutsider, server } = caller
  if (actor === null || isOutsider || actor.role === 'viewer') return findDeployment(caller)
  const id = await deployFor(server, actor)
  await waitUntilRunning(server, id)
  return id
}

/** Requests that change or delete the account of their sender. */
const byNewPerson: MakeRequest = async (caller) => ({ person: await addPerson(caller), body: { password } })

const byPersonWithTotp: MakeRequest = async (caller) => {
  const person = await addPerson(caller)
  await addTotp(person)
  return { person, body: { password } }
}

const rerank: MakeRequest = (caller) => ({
  body: { model: findDeployment(caller), query: 'Hello', documents: ['Hello'] },
})
const deployment: MakeRequest = (caller) => ({ parameters: { deployment_id: findDeployment(caller) } })

const benchmark: MakeRequest = async (caller) => {
  const id = findDeployment(caller)
  const { db } = caller.server.application
  await db.deleteFrom('benchmarks').where('deployment_id', '=', id).execute()
  const settings = { prompt_tokens: 1, output_tokens: 1, concurrency: [1], seconds: 1 }
  const { userId } = toViewer(caller.tenants.members.super_admin)
  const made = await insertBenchmark(db, id, userId, settings, new Date())
  return { parameters: { deployment_id: id, number: String(made!.number) } }
}

const withWebhook: MakeRequest = async (caller) => {
  await addWebhook(caller)
  return {}
}

const answerByToken: MakeRequest = async (caller) => ({
  parameters: { token: (await addInvitationFor(caller)).token },
})

/**
 * Prepares a request of an operation such as `DELETE /v1/things/{thing_id}`: its method, its path with
 * parameters, its body, and the client of its sender.
 */
export async function prepareRequest(operation: string, caller: Caller) {
  const request = (await requests[operation]?.(caller)) ?? {}
  const [method = '', pattern = ''] = operation.split(' ')
  const path = pattern.replaceAll(/\{(\w+)\}/g, (_match, parameter: string) => {
    const value = request.parameters?.[parameter]
    if (value === undefined) throw new Error(`requests gives no ${parameter} for ${operation}`)
    return String(value)
  })
  const search = request.query === undefined ? '' : `?${new URLSearchParams(request.query).toString()}`
  const { body, headers = {}, person } = request
  const { actor, server } = caller
  const client = (actor === null ? undefined : person) ?? (await openClient(server, actor))
  return { method, path: path + search, body, headers, client }
}

/** Requests of the operations that need path parameters or a body. */
const requests: Record<string, MakeRequest> = {
  'POST /v1/user/register': () => ({ body: { email: newEmail(), password, organization: 'New' } }),
  'POST /v1/user/signin': async ({ server }) => {
    const { email, password } = await registerClient(server.url)
    return { body: { email, password } }
  },
  'GET /v1/installation/organizations/{organization_id}': ({ tenants }) => ({
    parameters: { organization_id: tenants.members.super_admin.organizationId },
  }),
  'POST /v1/user/password': async (caller) => {
    const person = await addPerson(caller)
    return { person, body: { current_password: password, new_password: 'a longer engine' } }
  },
  'POST /v1/user/second-factors/totp': byNewPerson,
  'POST /v1/user/second-factors/totp/verify': async (caller) => {
    const person = await addPerson(caller)
    const { code } = await startTotp(person)
    return { person, body: { code: code() } }
  },
  'DELETE /v1/user/second-factors/totp': byPersonWithTotp,
  'POST /v1/user/second-factors/recovery-codes': byPersonWithTotp,
  'POST /v1/user/second-factors/passkeys/start': byNewPerson,
  'POST /v1/user/second-factors/passkeys': async (caller) => {
    const person = await addPerson(caller)
    const { options } = (await person.post('/v1/user/second-factors/passkeys/start', { password })).body
    const { origin } = caller.server.application.config.publicUrl
    return { person, body: { name: 'Laptop', response: createAuthenticator(origin).create(options) } }
  },
  'POST /v1/user/second-factors/passkeys/challenge': async (caller) => {
    const person = await addPerson(caller)
    await addPasskey(person, caller.server.application.config.publicUrl.origin)
    return { person }
  },
  'DELETE /v1/user/second-factors/passkeys/{passkey_id}': async (caller) => {
    const person = await addPerson(caller)
    await addPasskey(person, caller.server.application.config.publicUrl.origin)
    const { passkeys } = (await person.get('/v1/user/second-factors')).body
    return { person, parameters: { passkey_id: passkeys[0].id }, body: { password } }
  },
  'DELETE /v1/user/identities/{identity_id}': async (caller) => {
    const person = await addPerson(caller)
    const parameters = { identity_id: await linkIdentity(caller, person.email) }
    return { person, parameters, body: { password } }
  },
  'DELETE /v1/user': byNewPerson,
  'POST /v1/auth/sessions': async (caller) => ({
    person: await addPerson(caller),
    body: { name: 'Nightly report', password },
  }),
  'DELETE /v1/auth/sessions/{session_id}': async ({ server, tenants, actor, isOutsider }) => {
    const owner = actor === null || isOutsider ? tenants.members.member : actor
    const sessions = (await (await openClient(server, owner)).get('/v1/auth/sessions')).body
    return { parameters: { session_id: sessions[0].id } }
  },
  'PATCH /v1/user/profile': () => ({ body: { country: newEmail() } }),
  'POST /v1/auth/password-reset/request': ({ tenants }) => ({
    body: { email: tenants.members.super_admin.email },
  }),
  'POST /v1/auth/password-reset/confirm': async ({ server }) => {
    const { userId } = await registerPerson(server)
    return { body: { token: await insertReset(server, userId), password: 'a longer engine' } }
  },
  'POST /v1/user/email-verification/confirm': async (caller) => {
    const person = await addPerson(caller)
    return { person, body: { token: await addVerification(caller, person.userId) } }
  },
  'POST /v1/user/domain-organization': async (caller) => {
    const person = await addPerson(caller)
    await openDomain(caller, person.userId)
    return { person }
  },
  'GET /v1/sso/login/{sso_provider}': () => ({ parameters: { sso_provider: 'oidc' } }),
  'GET /v1/sso/callback/{sso_provider}': () => ({ parameters: { sso_provider: 'oidc' } }),
  'POST /v1/sso/backchannel-logout/{sso_provider}': () => ({
    parameters: { sso_provider: 'oidc' },
    body: { logout_token: 'no token' },
  }),
  'POST /v1/invitations/sso/{sso_provider}/start': async (caller) => ({
    parameters: { sso_provider: 'oidc' },
    body: { token: (await addOpenInvitation(caller)).token },
  }),
  'PATCH /v1/organization/members/{member_id}': async (caller) => ({
    parameters: { member_id: (await addMember(caller)).membershipId },
    body: { role: 'member' },
  }),
  'DELETE /v1/organization/members/{member_id}': async (caller) => ({
    parameters: { member_id: (await addMember(caller)).membershipId },
  }),
  'POST /v1/organization/service-members': () => ({
    body: { name: newEmail(), role: 'viewer', allowed_networks: ['10.0.0.0/8'] },
  }),
  'PATCH /v1/organization/service-members/{member_id}': async (caller) => ({
    parameters: { member_id: await addServiceMember(caller) },
    body: { allowed_networks: ['10.0.0.0/8'] },
  }),
  'POST /v1/organization/service-members/{member_id}/rotate': async (caller) => ({
    parameters: { member_id: await addServiceMember(caller) },
  }),
  'POST /v1/organization/teams': () => ({ body: { name: newEmail() } }),
  'PATCH /v1/organization/teams/{team_id}': async (caller) => ({
    parameters: { team_id: (await addTeam(caller)).id },
    body: { name: newEmail() },
  }),
  'DELETE /v1/organization/teams/{team_id}': async (caller) => ({
    parameters: { team_id: (await addTeam(caller)).id },
  }),
  'PUT /v1/organization/teams/{team_id}/members/{user_id}': async (caller) => ({
    parameters: { team_id: (await addTeam(caller)).id, user_id: (await addMember(caller)).userId },
  }),
  'DELETE /v1/organization/teams/{team_id}/members/{user_id}': async (caller) => {
    const { id, userId } = await addTeam(caller)
    return { parameters: { team_id: id, user_id: userId } }
  },
  'DELETE /v1/organization/invitations/{invitation_id}': async (caller) => ({
    parameters: { invitation_id: (await addOpenInvitation(caller)).id },
  }),
  'PATCH /v1/organization': () => ({ body: { description: newEmail() } }),
  'GET /v1/organization/alert-webhook': withWebhook,
  'PATCH /v1/organization/alert-webhook': () => ({ body: { url: 'https://alerts.example.invalid/berth' } }),
  'DELETE /v1/organization/alert-webhook': withWebhook,
  'POST /v1/organization/alert-webhook/secret': withWebhook,
  'POST /v1/organization/alert-webhook/test': withWebhook,
  'POST /v1/organization/invitations': () => ({ body: { email: newEmail() } }),
  'POST /v1/organization/invitations/{invitation_id}/resend': async (caller) => ({
    parameters: { invitation_id: (await addOpenInvitation(caller)).id },
  }),
  'POST /v1/organization/invitations/{invitation_id}/link': async (caller) => ({
    parameters: { invitation_id: (await addOpenInvitation(caller)).id },
  }),
  'POST /v1/organization/leave': async (caller) => ({ person: await addPerson(caller) }),
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
  'GET /v1/billing/usage/proof': () => ({
    query: { from: '2026-01-01T00:00:00Z', to: '2026-02-01T00:00:00Z' },
  }),
  'GET /v1/billing/invoices/{invoice_id}/proof': () => ({ parameters: { invoice_id: 'in_unknown' } }),
  'POST /v1/billing/budgets': async ({ server }) => {
    await server.application.db.deleteFrom('budgets').execute()
    return { body: { scope: 'organization', monthly_limit: '1000', at_limit: 'notify' } }
  },
  'PATCH /v1/billing/budgets/{budget_id}': async (caller) => ({
    parameters: { budget_id: await addBudget(caller) },
    body: { monthly_limit: '2000' },
  }),
  'DELETE /v1/billing/budgets/{budget_id}': async (caller) => ({
    parameters: { budget_id: await addBudget(caller) },
  }),
  'POST /v1/billing/portal/session': () => ({ body: {} }),
  'POST /v1/billing/checkout/setup-session': () => ({ body: {} }),
  'POST /v1/billing/webhook': () => ({ body: { id: 'evt_1', type: 'invoice.paid' } }),
  'GET /v1/models/{model}': (caller) => ({ parameters: { model: findDeployment(caller) } }),
  'GET /api/v1/deployable-models/{model_id}': () => ({ parameters: { model_id: 'berth-tiny' } }),
  'POST /api/v1/endpoints': () => ({ body: { name: newEmail(), base_url: unreachableEndpoint } }),
  'GET /api/v1/endpoints/{endpoint_id}': async (caller) => ({
    parameters: { endpoint_id: await addEndpointOf(caller) },
  }),
  'PATCH /api/v1/endpoints/{endpoint_id}': async (caller) => ({
    parameters: { endpoint_id: await addEndpointOf(caller) },
    body: { name: newEmail() },
  }),
  'DELETE /api/v1/endpoints/{endpoint_id}': async (caller) => ({
    parameters: { endpoint_id: await addEndpointOf(caller) },
  }),
  'POST /api/v1/endpoints/{endpoint_id}/check': async (caller) => ({
    parameters: { endpoint_id: await addEndpointOf(caller) },
  }),
  'POST /api/v1/deployable-models/inspect': () => ({ body: { huggingface: 'acme/Small-GGUF' } }),
  'POST /api/v1/deployable-models': () => ({
    body: { huggingface: 'acme/Small-GGUF', model_name: newModelName() },
  }),
  'PATCH /api/v1/deployable-models/{model_id}': async (caller) => ({
    parameters: { model_id: await addModel(caller) },
    body: { display_name: 'Support' },
  }),
  'DELETE /api/v1/deployable-models/{model_id}': async (caller) => ({
    parameters: { model_id: await addModel(caller) },
  }),
  'GET /api/v1/model-files/{file_name}': () => ({ parameters: { file_name: `${'0'.repeat(64)}.gguf` } }),
  'POST /api/v1/model-uploads': () => ({ headers: { ...tusHeaders, 'upload-length': '100' } }),
  'PATCH /api/v1/model-uploads/{upload_id}': async (caller) => ({
    parameters: { upload_id: await addUpload(caller) },
    headers: { ...tusHeaders, 'content-type': 'application/offset+octet-stream', 'upload-offset': '0' },
    body: 'GGUF',
  }),
  'DELETE /api/v1/model-uploads/{upload_id}': async (caller) => ({
    parameters: { upload_id: await addUpload(caller) },
    headers: tusHeaders,
  }),
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
  'POST /api/v1/model-deployments/{deployment_id}/sleep': async (caller) => ({
    parameters: { deployment_id: await deployOwn(caller) },
  }),
  'POST /api/v1/model-deployments/{deployment_id}/wake': async (caller) => {
    const id = await deployOwn(caller)
    if (id !== findDeployment(caller))
      await putToSleepFor(caller.server.application, id, { cause: 'idle', idle_minutes: 1 })
    return { parameters: { deployment_id: id } }
  },
  'GET /api/v1/model-deployments/summary': (caller) => ({ query: { ids: findDeployment(caller) } }),
  'GET /api/v1/model-deployments/{deployment_id}/events': deployment,
  'GET /api/v1/model-deployments/{deployment_id}/activity': deployment,
  'GET /api/v1/model-deployments/{deployment_id}/logs': deployment,
  'GET /api/v1/model-deployments/{deployment_id}/usage': deployment,
  'GET /api/v1/model-deployments/{deployment_id}/statistics': deployment,
  'GET /api/v1/model-deployments/{deployment_id}/requests': deployment,
  'POST /api/v1/model-deployments/{deployment_id}/benchmarks': (caller) => ({
    parameters: { deployment_id: findDeployment(caller) },
    body: { prompt_tokens: 1, output_tokens: 1, concurrency: [1], seconds: 1 },
  }),
  'GET /api/v1/model-deployments/{deployment_id}/benchmarks': deployment,
  'GET /api/v1/model-deployments/{deployment_id}/benchmarks/{number}': benchmark,
  'DELETE /api/v1/model-deployments/{deployment_id}/benchmarks/{number}': benchmark,
  'POST /v1/chat/completions': (caller) => ({
    body: { model: findDeployment(caller), messages: [{ role: 'user', content: 'Hello' }] },
  }),
  'POST /v1/completions': (caller) => ({ body: { model: findDeployment(caller), prompt: 'Hello' } }),
  'POST /v1/responses': (caller) => ({ body: { model: findDeployment(caller), input: 'Hello' } }),
  'POST /v1/messages': (caller) => ({
    body: {
      model: findDeployment(caller),
      max_tokens: 9,
      messages: [{ role: 'user', content: 'Hello' }],
    },
  }),
  'POST /v1/messages/count_tokens': (caller) => ({
    body: { model: findDeployment(caller), messages: [{ role: 'user', content: 'Hello' }] },
  }),
  'POST /tokenize': (caller) => ({ body: { model: findDeployment(caller), prompt: 'Hello' } }),
  'POST /v1/embeddings': (caller) => ({ body: { model: findDeployment(caller), input: 'Hello' } }),
  'POST /v1/rerank': rerank,
  'POST /v2/rerank': rerank,
  'POST /rerank': rerank,
}
