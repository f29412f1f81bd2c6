import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Answer } from '../support/client.ts'
import { prepareRequest } from '../support/matrix-requests.ts'
import { startSsoServer } from '../support/oidc-provider.ts'
import type { SsoServer } from '../support/oidc-provider.ts'
import { listOperations } from '../support/operations.ts'
import { startAnsweringEngine } from '../support/recording-engine.ts'
import type { RecordingEngine } from '../support/recording-engine.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import { createTenants, openClient, readTenant } from '../support/tenants.ts'
import type { Actor, Tenants } from '../support/tenants.ts'

/**
 * The status of every operation for each caller. The stranger is super_admin of another organization. Anonymous and the stranger
 * request resources of the tenant, the others their own. A 200 or 201 for the stranger on a path without an id is about their own.
 */
const matrix = parseMatrix(`
                                                         anonymous viewer member admin super_admin stranger
  GET    /healthz                                           200    200    200    200   200         200
  GET    /readyz                                            200    200    200    200   200         200
  GET    /metrics                                           200    200    200    200   200         200
  GET    /v1/installation                                   200    200    200    200   200         200
  POST   /v1/user/register                                  200    200    200    200   200         200
  POST   /v1/user/signin                                    200    200    200    200   200         200
  POST   /v1/user/logout                                    401    200    200    200   200         200
  POST   /v1/user/password                                  401    401    401    401   401         401
  GET    /v1/user/second-factors                            401    200    200    200   200         200
  POST   /v1/user/second-factors/totp                       401    401    401    401   401         401
  POST   /v1/user/second-factors/totp/confirm               401    409    409    409   409         409
  DELETE /v1/user/second-factors/totp                       401    401    401    401   401         401
  POST   /v1/user/second-factors/recovery-codes             401    401    401    401   401         401
  POST   /v1/user/second-factors/passkeys/start             401    401    401    401   401         401
  POST   /v1/user/second-factors/passkeys                   401    401    401    401   401         401
  DELETE /v1/user/second-factors/passkeys/{passkey_id}      401    401    401    401   401         401
  GET    /v1/user/export                                    401    200    200    200   200         200
  DELETE /v1/user                                           401    401    401    401   401         401
  GET    /v1/auth/sessions                                  401    200    200    200   200         200
  DELETE /v1/auth/sessions                                  401    204    204    204   204         204
  DELETE /v1/auth/sessions/{session_id}                     401    204    204    204   204         404
  GET    /v1/user/organizations                             401    200    200    200   200         200
  POST   /v1/user/email-verification/request                401    200    200    200   200         200
  POST   /v1/user/email-verification/confirm                401    400    400    400   400         400
  GET    /v1/user/profile                                   401    200    200    200   200         200
  PATCH  /v1/user/profile                                   401    200    200    200   200         200
  GET    /v1/auth/session                                   401    200    200    200   200         200
  POST   /v1/auth/password-reset/request                    200    200    200    200   200         200
  POST   /v1/auth/password-reset/confirm                    400    400    400    400   400         400
  GET    /v1/sso/providers                                  200    200    200    200   200         200
  GET    /v1/sso/login/{sso_provider}                       302    302    302    302   302         302
  GET    /v1/sso/callback/{sso_provider}                    302    302    302    302   302         302

  GET    /v1/organization                                   401    200    200    200   200         200
  PATCH  /v1/organization                                   401    403    403    200   200         200
  GET    /v1/organization/members                           401    200    200    200   200         200
  PATCH  /v1/organization/members/{member_id}               401    403    403    200   200         404
  DELETE /v1/organization/members/{member_id}               401    403    403    204   204         404
  POST   /v1/organization/leave                             401    409    409    409   409         409
  GET    /v1/organization/invitations                       401    403    403    200   200         200
  POST   /v1/organization/invitations                       401    403    403    200   200         200
  POST   /v1/organization/invitations/{invitation_id}/resend 401   403    403    200   200         404
  POST   /v1/organization/invitations/{invitation_id}/link  401    403    403    200   200         404
  DELETE /v1/organization/invitations/{invitation_id}       401    403    403    200   200         404
  GET    /v1/organization/audit-log                         401    403    403    200   200         200
  GET    /v1/invitations                                    401    200    200    200   200         200
  POST   /v1/invitations/{invitation_id}/reject             401    200    200    200   200         404
  POST   /v1/invitations/by-token/{token}/accept            401    200    200    200   200         403
  POST   /v1/invitations/by-token/{token}/reject            401    200    200    200   200         403
  GET    /v1/invitations/by-token/{token}                   200    200    200    200   200         200
  POST   /v1/invitations/register                           200    200    200    200   200         200
  POST   /v1/invitations/sso/{sso_provider}/start           200    200    200    200   200         200

  GET    /v1/billing/config                                 401    200    200    200   200         200
  GET    /v1/billing/account                                401    403    403    200   200         200
  GET    /v1/billing/usage-summary                          401    200    200    200   200         200
  GET    /v1/billing/usage                                  401    200    200    200   200         200
  GET    /v1/billing/anomalies                              401    403    403    200   200         200
  GET    /v1/billing/subscription                           401    403    403    200   200         200
  POST   /v1/billing/subscription/activate-postpaid         401    403    403    200   200         404
  PATCH  /v1/billing/subscription/collection-method         401    403    403    200   200         409
  GET    /v1/billing/payment-methods                        401    403    403    200   200         200
  PATCH  /v1/billing/payment-methods/default                401    403    403    200   200         404
  DELETE /v1/billing/payment-methods/{payment_method_id}    401    403    403    204   204         404
  POST   /v1/billing/portal/session                         401    403    403    200   200         200
  POST   /v1/billing/checkout/setup-session                 401    403    403    200   200         200
  GET    /v1/billing/invoices                               401    403    403    200   200         200
  POST   /v1/billing/webhook                                400    400    400    400   400         400

  GET    /api/v1/deployable-models                          401    200    200    200   200         200
  GET    /api/v1/deployable-models/{model_id}               401    200    200    200   200         200
  GET    /api/v1/placements                                 401    200    200    200   200         200
  GET    /api/v1/model-deployments                          401    200    200    200   200         200
  POST   /api/v1/model-deployments                          401    403    201    201   201         201
  POST   /api/v1/model-deployments/plan                     401    200    200    200   200         200
  GET    /api/v1/model-deployments/{deployment_id}          401    200    200    200   200         404
  PATCH  /api/v1/model-deployments/{deployment_id}          401    403    200    200   200         404
  DELETE /api/v1/model-deployments/{deployment_id}          401    403    200    200   200         404
  GET    /api/v1/model-deployments/{deployment_id}/events   401    200    200    200   200         404
  GET    /api/v1/model-deployments/{deployment_id}/logs     401    200    200    200   200         404
  GET    /api/v1/model-deployments/{deployment_id}/usage    401    200    200    200   200         404
  GET    /api/v1/model-deployments/{deployment_id}/statistics 401  200    200    200   200         404
  GET    /v1/models                                         401    200    200    200   200         200
  GET    /v1/models/{model}                                 401    200    200    200   200         404
  POST   /v1/chat/completions                               401    200    200    200   200         404
  POST   /v1/embeddings                                     401    400    400    400   400         404
`)

/** The token of an invitation grants the right to preview it and to register with it. */
const opensByToken = new Set([
  'GET /v1/invitations/by-token/{token}',
  'POST /v1/invitations/register',
  'POST /v1/invitations/sso/{sso_provider}/start',
])

type ActorName = 'anonymous' | 'viewer' | 'member' | 'admin' | 'super_admin' | 'stranger'

const outsiders: readonly ActorName[] = ['anonymous', 'stranger']
const insiders: readonly ActorName[] = ['viewer', 'member', 'admin', 'super_admin']

function parseMatrix(table: string): Map<string, Record<ActorName, number>> {
  const [header = '', ...lines] = table.split('\n').filter((line) => line.trim() !== '')
  const actors = header.trim().split(/\s+/) as ActorName[]
  return new Map(
    lines.map((line) => {
      const [method, path, ...statuses] = line.trim().split(/\s+/)
      const row = Object.fromEntries(actors.map((actor, index) => [actor, Number(statuses[index])]))
      return [`${method} ${path}`, row as Record<ActorName, number>]
    }),
  )
}

const runtime = createScriptedRuntime()
/** The response to each caller with the request, whose content a response may repeat. */
const exchanges: { actor: ActorName; operation: string; sent: string; answer: string }[] = []

let engine: RecordingEngine
let server: SsoServer
let tenants: Tenants
beforeAll(async () => {
  engine = await startAnsweringEngine(runtime)
  server = await startSsoServer({ worker: true, runtime })
  tenants = await createTenants(server)
})
afterAll(async () => {
  await server.close()
  await engine.close()
})

function findActor(name: ActorName): Actor | null {
  return name === 'anonymous' ? null : name === 'stranger' ? tenants.stranger : tenants.members[name]
}

async function ask(operation: string, name: ActorName): Promise<Answer> {
  const actor = findActor(name)
  const isOutsider = outsiders.includes(name)
  const { method, path, body } = await prepareRequest(operation, { server, tenants, actor, isOutsider })
  const client = await openClient(server, actor)
  const before = isOutsider ? await readTenant(server, tenants) : null
  const answer = await client.request(method, path, body)
  if (before !== null && !opensByToken.has(operation)) {
    expect(await readTenant(server, tenants), `${name} changed the tenant`).toEqual(before)
  }
  exchanges.push({
    actor: name,
    operation,
    sent: `${path} ${JSON.stringify(body)}`,
    answer: JSON.stringify([...answer.headers, answer.body]),
  })
  return answer
}

test('every API operation has a row, and every row has an operation', async () => {
  const document = (await (await openClient(server, null)).get('/openapi.json')).body
  const operations = listOperations(document).map(({ method, path }) => `${method} ${path}`)
  expect([...matrix.keys()].toSorted()).toEqual(operations.toSorted())
})

test.each([...matrix])('%s', async (operation, expected) => {
  const statuses: Partial<Record<ActorName, number>> = {}
  for (const name of Object.keys(expected) as ActorName[])
    statuses[name] = (await ask(operation, name)).status
  expect(statuses).toEqual(expected)
})

test.each([...matrix.keys()].filter((operation) => operation.includes('{deployment_id}')))(
  '%s: a deployment of a colleague is a 404, even for admins',
  async (operation) => {
    const [method = '', pattern = ''] = operation.split(' ')
    const path = pattern.replace('{deployment_id}', tenants.deployments.get(tenants.members.member)!)
    for (const name of ['admin', 'super_admin'] as const) {
      const client = await openClient(server, findActor(name))
      const body = method === 'PATCH' ? {} : undefined
      expect((await client.request(method, path, body)).status).toBe(404)
    }
  },
)

/** Everything that identifies a tenant: names, emails, ids. */
async function listMarks(actor: Actor): Promise<string[]> {
  const { db } = server.application
  const { organizationId } = actor
  const [organization] = await db
    .selectFrom('organizations')
    .selectAll()
    .where('id', '=', organizationId)
    .execute()
  const people = await db
    .selectFrom('memberships')
    .innerJoin('users', 'users.id', 'memberships.user_id')
    .select(['memberships.id', 'users.id as user_id', 'users.email', 'users.name'])
    .where('organization_id', '=', organizationId)
    .execute()
  const owned = await db
    .selectFrom('deployments')
    .select('id')
    .where('organization_id', '=', organizationId)
    .execute()
  const invited = await db
    .selectFrom('invitations')
    .select(['id', 'invitee_email', 'nonce'])
    .where('organization_id', '=', organizationId)
    .execute()
  const { id, name, slug, description } = organization!
  return [{ id, name, slug, description }, ...people, ...owned, ...invited]
    .flatMap((row) => Object.values(row).map(String))
    .filter((mark) => mark.length >= 6)
}

/** A number is no mark inside another number, such as a figure of `/metrics`. */
function contains(answer: string, mark: string): boolean {
  return /^\d+$/.test(mark) ? new RegExp(`(?<!\\d|\\d\\.)${mark}(?!\\d)`).test(answer) : answer.includes(mark)
}

test.each([
  ['the tenant', outsiders, () => tenants.members.super_admin],
  ['the stranger', insiders, () => tenants.stranger],
] as const)('no response reveals anything about %s', async (_whose, readers, owner) => {
  const marks = await listMarks(owner())
  expect(marks.length).toBeGreaterThan(readers === outsiders ? 50 : 5)
  const seen = exchanges.filter(
    ({ actor, operation }) => readers.includes(actor) && !opensByToken.has(operation),
  )
  expect(seen.length).toBeGreaterThan(matrix.size)
  const leaks = seen.flatMap(({ actor, operation, sent, answer }) =>
    marks
      .filter((mark) => contains(answer, mark) && !sent.includes(mark))
      .map((mark) => ({ actor, operation, mark })),
  )
  expect(leaks).toEqual([])
})
