import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { answerChats } from '../support/chat-streams.ts'
import type { Client } from '../support/client.ts'
import { deploy, waitForStatus } from '../support/deployments.ts'
import { engines } from '../support/engines.ts'
import { createCast } from '../support/organizations.ts'
import { startRecordingEngine } from '../support/recording-engine.ts'
import type { RecordingEngine } from '../support/recording-engine.ts'
import { createScriptedRuntime, makeOffer } from '../support/scripted-runtime.ts'
import { createService, openService } from '../support/service-members.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const path = '/api/v1/model-deployments'
const patience = 20_000
const models = {
  /** On an engine whose requests may have a salt */
  salted: { model_name: 'qwen2.5-instruct', model_format: 'pytorch', model_size_in_billions: 7 },
  /** On an engine that only knows to use no cache */
  unsalted: { model_name: 'berth-tiny' },
}

let engine: RecordingEngine
let server: TestServer
beforeAll(async () => {
  engine = await startRecordingEngine()
  answerChats(engine)
  const runtime = createScriptedRuntime(engine.url)
  const offer = makeOffer('gpu', {
    formats: ['pytorch'],
    gpuCount: 1,
    vendor: 'nvidia',
    computeCapability: 8.9,
    memoryBytes: 80 * 2 ** 30,
  })
  runtime.answer({ listOffers: () => [makeOffer('cpu'), offer] })
  const served = [
    { ...engines.llamaCpp, version: '11669' },
    { ...engines.vllm, version: '0.32.0' },
  ]
  server = await startTestServer({ runtime: { ...runtime, engines: served } })
})
afterAll(async () => {
  await server.close()
  await engine.close()
})

/** Deploys a model, which its owner calls and then shares. */
async function share(model: keyof typeof models, policy: object = {}) {
  const cast = await createCast(server)
  const { member, viewer, admin } = cast
  const { id } = (await member.post(path, models[model])).body
  await waitForStatus(member, id, 'running')
  expect((await member.patch(`${path}/${id}`, policy)).status).toBe(200)
  /** What the engine gets */
  const send = async (by: Client, more: object = {}, route = '/v1/chat/completions', headers = {}) => {
    const body = { model: id, messages: [{ role: 'user', content: 'Hi' }], max_tokens: 5, ...more }
    await by.request('POST', route, body, headers)
    const { path: sentTo, body: sent } = engine.requests.at(-1)!
    return { sentTo, ...JSON.parse(sent) }
  }
  const alone = await send(member)
  const own = await send(member, { cache_salt: 'mine', cache_prompt: true })
  expect(own, 'alone').toMatchObject({ cache_salt: 'mine', cache_prompt: true })
  await member.patch(`${path}/${id}`, { shared_with: 'organization' })
  const callers = [member, viewer, admin] as const
  for (const caller of callers) {
    const refused = () => caller.post('/v1/chat/completions', { model: id, messages: [], lora: 1 })
    await vi.waitFor(async () => expect((await refused()).status).toBe(400), patience)
  }
  return { ...cast, id, alone, callers, send }
}

async function listSalts({ callers, alone, send }: Awaited<ReturnType<typeof share>>) {
  const salts: string[] = [alone.cache_salt]
  for (const caller of callers) {
    salts.push((await send(caller)).cache_salt, (await send(caller, { cache_salt: 'mine' })).cache_salt)
  }
  for (const salt of salts) expect(salt).toMatch(/^[\w-]{43}$/)
  return salts
}

test('an engine that salts its cache gets one secret salt for each organization', async () => {
  const [one, other] = [await listSalts(await share('salted')), await listSalts(await share('salted'))]
  expect(new Set(one).size).toBe(1)
  expect(new Set([...one, ...other]).size).toBe(2)
})

test('with `cache_scope: member` it gets one for each person, on routes that honor it', async () => {
  const shared = await share('salted', { cache_scope: 'member' })
  const [alone, owner, again, viewer, ...others] = await listSalts(shared)
  expect(new Set([alone, owner, again]).size).toBe(1)
  expect(new Set([owner, viewer, ...others]).size).toBe(shared.callers.length)
  const message = await shared.send(shared.viewer, {}, '/v1/messages')
  expect(message).toMatchObject({ sentTo: '/v1/chat/completions', cache_salt: viewer })
})

test('a program that names members has the salt of each, and its own for people from outside', async () => {
  const { admin, viewer, send } = await share('salted', { cache_scope: 'member' })
  const account = await createService(admin, { may_name_members: true })
  const program = await openService(server.url, account)
  const name = async (email: string): Promise<string> => {
    const headers = { 'x-berth-member': email }
    return (await send(program, {}, '/v1/chat/completions', headers)).cache_salt
  }
  const own = (await send(program)).cache_salt
  const salts = [own, (await send(viewer)).cache_salt, (await send(admin)).cache_salt]
  expect(new Set(salts).size).toBe(3)
  expect(await name(viewer.email)).toBe(salts[1])
  expect(await name(admin.email)).toBe(salts[2])
  expect(await name('kai@example.org')).toBe(own)
})

test('with `cache_scope: member` an engine without salts caches nothing while others may call', async () => {
  const { id, member, viewer, callers, alone, send } = await share('unsalted', { cache_scope: 'member' })
  expect(alone).not.toHaveProperty('cache_prompt')
  for (const caller of callers) {
    expect((await send(caller)).cache_prompt).toBe(false)
    expect((await send(caller, { cache_prompt: true })).cache_prompt).toBe(false)
    const message = await send(caller, {}, '/v1/messages')
    expect(message).toMatchObject({ sentTo: '/v1/chat/completions', cache_prompt: false })
  }
  await member.patch(`${path}/${id}`, { cache_scope: 'organization' })
  await vi.waitFor(async () => expect(await send(viewer)).not.toHaveProperty('cache_prompt'), patience)
  expect((await send(viewer, {}, '/v1/messages')).sentTo).toBe('/v1/messages')
})

test('`cache_scope: member` is audited, and refused where the engine can’t honor it', async () => {
  const { member, admin } = await createCast(server)
  const { id } = await deploy(member)
  const changed = await member.patch(`${path}/${id}`, { cache_scope: 'member' })
  expect(changed.body.policy.cache_scope).toBe('member')
  const { items } = (await admin.get('/v1/organization/audit-log?action=deployment.updated')).body
  expect(items[0]).toMatchObject({ target: { id }, details: { cache_scope: 'member' } })
  const embedding = (await deploy(member, 'berth-tiny-embedding')).id
  const refused = await member.patch(`${path}/${embedding}`, { cache_scope: 'member' })
  expect(refused).toMatchObject({ status: 422, body: { errors: [{ field: 'cache_scope' }] } })
  expect((await member.patch(`${path}/${embedding}`, { cache_scope: 'organization' })).status).toBe(200)
})
