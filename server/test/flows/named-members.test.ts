import { request } from 'node:http'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { setDisabled } from '../../src/features/accounts/set-disabled.ts'
import { answerChats } from '../support/chat-streams.ts'
import type { Client } from '../support/client.ts'
import { deploy } from '../support/deployments.ts'
import { createCast, joinClient } from '../support/organizations.ts'
import { answerJson, startRecordingEngine } from '../support/recording-engine.ts'
import type { RecordingEngine } from '../support/recording-engine.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import { createService, openService } from '../support/service-members.ts'
import type { ServiceAccount } from '../support/service-members.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'
import { watchAdmission } from '../support/watch-admission.ts'

const deployments = '/api/v1/model-deployments'
const services = '/v1/organization/service-members'
const openWebUi = 'x-openwebui-user-email'

/** Waits as long as a busy machine may need. */
const waitFor = <Result>(check: () => Result | Promise<Result>) => vi.waitFor(check, { timeout: 20_000 })

let engine: RecordingEngine
let server: TestServer
let cast: Awaited<ReturnType<typeof createCast>>
let account: ServiceAccount
let service: Client
/** Of the member, shared */
let id: string

beforeAll(async () => {
  engine = await startRecordingEngine()
  server = await startTestServer({ runtime: createScriptedRuntime(engine.url) })
})
afterAll(async () => {
  await server.close()
  await engine.close()
})
beforeEach(async () => {
  answerChats(engine)
  cast = await createCast(server)
  account = await createService(cast.admin, {
    may_name_members: true,
    member_header: 'X-OpenWebUI-User-Email',
  })
  service = await openService(server.url, account)
  id = (await deploy(cast.member)).id
  expect((await cast.member.patch(`${deployments}/${id}`, { shared_with: 'organization' })).status).toBe(200)
})

function ask(name: string | null, header = 'x-berth-member', model = id) {
  const body = { model, messages: [] }
  return service.request('POST', '/v1/chat/completions', body, name === null ? {} : { [header]: name })
}

async function findUserId(client: Client): Promise<number> {
  return (await client.get('/v1/auth/session')).body.user.id
}

/** The requests of each caller, as the organization sees them. */
async function readRequests(): Promise<Record<string, string>> {
  await server.application.tokens.flush()
  const { items } = (await cast.admin.get('/v1/billing/usage?group_by=member')).body
  const inputs = items.filter(({ meter }: any) => meter === 'inference_input_tokens')
  return Object.fromEntries(inputs.map(({ email, quantity }: any) => [email, quantity]))
}

/** Each answer of the engine counts one token. */
function countRequests(): void {
  const usage = { prompt_tokens: 1, completion_tokens: 0 }
  engine.answer((response) => answerJson(response, JSON.stringify({ choices: [], usage })))
}

test('three people ask through one program: usage, statistics and logs are those of each, and the engine learns no name', async () => {
  countRequests()
  const { viewer, member, admin } = cast
  for (const name of [viewer.email, viewer.email.toUpperCase(), ` ${viewer.email} `, member.email]) {
    expect((await ask(name)).status, name).toBe(200)
  }
  expect((await ask(String(await findUserId(admin)))).status).toBe(200)
  expect((await ask(admin.email, openWebUi)).status).toBe(200)
  expect((await ask(null)).status).toBe(200)
  expect((await ask('')).status, 'names nobody').toBe(200)
  for (const name of ['Kai@Example.org', 'kai@example.org']) expect((await ask(name)).status).toBe(200)
  expect(await readRequests()).toEqual({
    [viewer.email]: '3',
    [member.email]: '1',
    [admin.email]: '2',
    [account.email]: '2',
    'outside: kai@example.org': '2',
  })
  const heads = JSON.stringify(engine.requests.slice(-10).map(({ headers }) => headers))
  for (const secret of [viewer.email, 'kai@example.org', 'berth-member', openWebUi])
    expect(heads.toLowerCase()).not.toContain(secret)
  await server.application.inference.statistics.flush()
  const { members } = (await member.get(`${deployments}/${id}/statistics`)).body
  const counted = Object.fromEntries(members.map(({ email, requests }: any) => [email, requests]))
  expect(counted).toEqual({ [viewer.email]: 3, [member.email]: 1, [admin.email]: 2, [account.email]: 4 })
  expect((await viewer.get('/v1/requests')).body.items).toHaveLength(3)
  const summary = (await admin.get('/v1/billing/usage-summary')).body.usage_totals
  expect(summary.find(({ meter }: any) => meter === 'inference_input_tokens').total_quantity).toBe('10')
})

test('without the right, the headers mean nothing', async () => {
  countRequests()
  const { viewer, member } = cast
  await cast.admin.patch(`${services}/${account.id}`, { may_name_members: false })
  await waitFor(async () => {
    await ask(viewer.email)
    expect(await readRequests()).toHaveProperty(account.email)
  })
  const before = await readRequests()
  for (const name of [viewer.email, 'x'.repeat(5_000), 'a, b'])
    expect((await ask(name)).status, 'not even malformed ones').toBe(200)
  const body = { model: id, messages: [] }
  const asked = await member.request('POST', '/v1/chat/completions', body, { 'x-berth-member': viewer.email })
  expect(asked.status).toBe(200)
  expect(await readRequests()).toEqual({
    ...before,
    [account.email]: String(Number(before[account.email]) + 3),
    [member.email]: '1',
  })
})

test('a header of the setting names by email only, and only if it is set', async () => {
  countRequests()
  const { viewer } = cast
  const viewerId = String(await findUserId(viewer))
  expect((await ask(viewerId, openWebUi)).status, 'ids are those of the other program').toBe(200)
  expect((await ask(viewer.email, 'x-litellm-end-user-id')).status).toBe(200)
  expect(await readRequests()).toEqual({ [`outside: ${viewerId}`]: '1', [account.email]: '1' })
})

test('rights are those of both: neither gains any', async () => {
  const { viewer, member, admin } = cast
  const own = (await deploy(service)).id
  const unshared = (await deploy(member)).id
  for (const each of [viewer, member, admin]) {
    expect((await ask(each.email, 'x-berth-member', own)).status, 'of the program').toBe(404)
    expect((await ask(each.email, 'x-berth-member', unshared)).status, 'of a member').toBe(404)
    expect((await ask(each.email)).status, 'shared').toBe(200)
  }
  expect((await ask(null, 'x-berth-member', own)).status).toBe(200)
  expect((await ask('kai@example.org', 'x-berth-member', own)).status, 'the program answers for them').toBe(
    200,
  )
  expect((await ask('kai@example.org', 'x-berth-member', unshared)).status).toBe(404)
  const list = async (headers: Record<string, string>) =>
    (await service.request('GET', '/v1/models', undefined, headers)).body.data.flatMap(
      (model: any) => model.deployments,
    )
  expect(await list({})).toEqual([own, id])
  expect(await list({ 'x-berth-member': viewer.email })).toEqual([id])
  const get = (model: string) =>
    service.request('GET', `/v1/models/${model}`, undefined, { 'x-berth-member': viewer.email })
  expect([(await get(own)).status, (await get(id)).status]).toEqual([404, 200])
})

test('members of other organizations, other programs and the unknown are all outside', async () => {
  countRequests()
  const { stranger } = cast
  const other = await createService(cast.admin)
  const names = [
    stranger.email,
    String(await findUserId(stranger)),
    other.email,
    String(other.user_id),
    account.email,
    'nobody@example.org',
    '999999999999999',
    '0',
    '-1',
    // As programs send it: the bytes of UTF-8
    Buffer.from('İ@example.org').toString('latin1'),
  ]
  const answers = await Promise.all(names.map((name) => ask(name)))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  expect(Object.keys(await readRequests()).every((email) => email.startsWith('outside: '))).toBe(true)
})

test('a header that is no single name is refused', async () => {
  const sent = engine.requests.length
  for (const name of [
    'x'.repeat(255),
    'x'.repeat(10_000),
    'a@b.example, c@d.example',
    'a\tb',
    '\u0085',
    '\u00ff',
  ]) {
    const answer = await ask(name)
    expect([answer.status, answer.body.error.type], JSON.stringify(name.slice(0, 20))).toEqual([
      400,
      'invalid_request_error',
    ])
  }
  const { port } = new URL(server.url)
  const headers = {
    cookie: service.cookie(),
    'content-type': 'application/json',
    'x-berth-member': [cast.viewer.email, cast.member.email],
  }
  const status = await new Promise((resolve, reject) => {
    const twice = request({ port, method: 'POST', path: '/v1/chat/completions', headers }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    twice.once('error', reject)
    twice.end(JSON.stringify({ model: id, messages: [] }))
  })
  expect(status).toBe(400)
  expect(engine.requests).toHaveLength(sent)
})

test('who leaves is outside, a disabled account may call nothing, and an address that joins counts for its member', async () => {
  countRequests()
  const leaving = await joinClient(server, cast.admin, 'member')
  const disabled = await joinClient(server, cast.admin, 'member')
  for (const each of [leaving, disabled]) expect((await ask(each.email)).status).toBe(200)
  expect((await ask('late@example.net')).status).toBe(200)
  expect((await leaving.post('/v1/organization/leave')).status).toBe(204)
  const userId = await findUserId(disabled)
  const { db, clock } = server.application
  await db.transaction().execute((transaction) => setDisabled(transaction, userId, clock()))
  await waitFor(async () => expect((await ask(disabled.email)).status).toBe(404))
  await waitFor(async () => {
    expect((await ask(leaving.email)).status).toBe(200)
    expect(await readRequests()).toHaveProperty(`outside: ${leaving.email}`)
  })
  await joinClient(server, cast.admin, 'viewer', { email: 'late@example.net' })
  await waitFor(async () => {
    await ask('late@example.net')
    expect(await readRequests()).toHaveProperty(['late@example.net'])
  })
})

/** Opens a stream for somebody, and resolves `ended` when it ends in any way. */
async function openStream(name: string) {
  const response = await fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { cookie: service.cookie(), 'content-type': 'application/json', 'x-berth-member': name },
    body: JSON.stringify({ model: id, stream: true, messages: [] }),
  })
  expect(response.status).toBe(200)
  const reader = response.body!.getReader()
  await reader.read()
  const ended = (async () => {
    while (!(await reader.read()).done);
  })().catch(() => undefined)
  return { ended, close: () => reader.cancel() }
}

test('a stream ends when the member that it is for leaves, although the program stays', async () => {
  const leaving = await joinClient(server, cast.admin, 'member')
  const stream = await openStream(leaving.email)
  expect((await leaving.post('/v1/organization/leave')).status).toBe(204)
  await stream.ended
  expect((await ask(null)).status).toBe(200)
})

test('people take turns, although one program asks for all', async () => {
  const { viewer, admin } = cast
  const [flooder, other] = [await findUserId(viewer), await findUserId(admin)]
  const held: (() => void)[] = []
  engine.answer((response) => void held.push(() => response.end('{"choices":[]}')))
  const log = watchAdmission(server)
  const { admission } = server.application.inference
  const flood = Array.from({ length: 20 }, () => ask(viewer.email))
  await waitFor(() => expect(held.length + admission.queued).toBe(20))
  const busy = held.length
  const answer = ask(admin.email)
  await waitFor(() => expect(admission.queued).toBe(20 - busy + 1))
  engine.answer((response) => response.end('{"choices":[]}'))
  held.forEach((release) => release())
  expect(new Set((await Promise.all([...flood, answer])).map(({ status }) => status))).toEqual(new Set([200]))
  const sent = log.filter(({ event }) => event === 'sent').map(({ userId }) => userId)
  expect(sent).toHaveLength(21)
  expect(new Set(sent.slice(busy, busy + 2))).toEqual(new Set([flooder, other]))
  vi.restoreAllMocks()
})
