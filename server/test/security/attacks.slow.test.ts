/** What a penetration test could do to a colleague or to another organization: a test for each finding. */

import { readFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import type { ClientRequest } from 'node:http'
import { resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { hostileSchemas, properties } from '../../../grammar/test/support/hostile-schemas.ts'
import type { Client } from '../support/client.ts'
import { registerClient } from '../support/client.ts'
import { deploy, waitForStatus } from '../support/deployments.ts'
import { makeGguf, qwenMetadata } from '../support/hub/model-files.ts'
import { createCast, joinClient } from '../support/organizations.ts'
import { answerJson, startAnsweringServer } from '../support/recording-engine.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'
import { announceUpload, uploadFile } from '../support/tus.ts'
import { watchAdmission } from '../support/watch-admission.ts'

const path = '/api/v1/model-deployments'
const chats = '/v1/chat/completions'
const patience = { timeout: 120_000, interval: 50 }
const tiny = readFileSync(resolve(import.meta.dirname, '../../../catalog/weights/berth-tiny.gguf'))

interface Attacked extends Awaited<ReturnType<typeof createCast>> {
  server: TestServer
  /** The shared deployment of the member */
  id: string
}

let server: TestServer
let attacked: Attacked
beforeAll(async () => {
  server = await startTestServer({ settings: { ENGINE_MAX_SEQUENCES: '4' } })
  const cast = await createCast(server)
  const { id } = await deploy(cast.member)
  expect((await cast.member.patch(`${path}/${id}`, { shared_with: 'organization' })).status).toBe(200)
  attacked = { server, ...cast, id }
})
afterAll(() => server?.close())

const ask = (client: Client, content: string, more: object = {}) =>
  client.post(chats, {
    model: attacked.id,
    messages: [{ role: 'user', content }],
    max_tokens: 8,
    temperature: 0,
    ...more,
  })

/** What an attack that broke the engine would change */
async function readInstances(): Promise<unknown> {
  const { body } = await attacked.member.get(`${path}/${attacked.id}`)
  expect(body.status).toBe('running')
  return attacked.server.application.db
    .selectFrom('instances')
    .select(['id', 'engine_restarted_at'])
    .where('deployment_id', '=', attacked.id)
    .execute()
}

/** Milliseconds of the owner's chats, one after the other until `others` end. Each must be answered. */
async function chatDuring(others: Promise<unknown>): Promise<number[]> {
  const durations: number[] = []
  const state = { isOver: false }
  const ended = others.finally(() => (state.isOver = true))
  do {
    const began = performance.now()
    const { status, body } = await ask(attacked.member, 'What is 27 + 15?')
    expect(status, JSON.stringify(body)).toBe(200)
    durations.push(performance.now() - began)
  } while (!state.isOver)
  await ended
  return durations
}

const median = (numbers: readonly number[]): number =>
  numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)]!

const asAnswer = (schema: object) => ({
  response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
})
const asTool = (schema: object) => ({
  tools: [
    { type: 'function', function: { name: 'f', parameters: properties(1, () => schema), strict: true } },
  ],
  tool_choice: 'required',
})

test('H1, M5: hostile schemas of a viewer neither end nor occupy the engine of a colleague', async () => {
  const before = await readInstances()
  const send = async (requests: readonly object[]) => {
    for (const more of requests) {
      const { status, body } = await ask(attacked.viewer, 'x', more)
      expect([200, 400], JSON.stringify(body)).toContain(status)
    }
  }
  const usual: number[] = []
  const slowed: number[] = []
  // In turn, because other work of the machine comes and goes.
  for (const [, , schema] of hostileSchemas) {
    const attacks = [asAnswer(schema), asTool(schema)]
    usual.push(...(await chatDuring(send(attacks.map(() => ({}))))))
    slowed.push(...(await chatDuring(send(attacks))))
  }
  // About 1 where the engine converts schemas beside its work; 60 where it waits for them
  expect(median(slowed) / median(usual)).toBeLessThan(3)
  expect(await readInstances()).toEqual(before)
})

test('H3: a member takes no name that colleagues use', async () => {
  const { admin, viewer, member, id } = attacked
  await member.patch(`${path}/${id}`, { alias: 'assistant' })
  const other = await joinClient(attacked.server, admin, 'member')
  const { id: own } = await deploy(other, 'berth-tiny-embedding')
  for (const alias of ['berth-tiny', 'assistant', id, `dep-${id}`]) {
    const taking = await other.patch(`${path}/${own}`, { alias, shared_with: 'organization' })
    expect([taking.status, taking.body.code], alias).toEqual([409, 'alias_taken'])
  }
  for (const name of ['berth-tiny', 'assistant']) {
    expect((await viewer.get(`/v1/models/${name}`)).body.deployments).toEqual([id])
  }
  await other.delete(`${path}/${own}`)
  await waitForStatus(other, own, 'terminated')
})

test('M1: no count tells a viewer whether a guess is the beginning of the owner’s prompt', async () => {
  const { member, viewer } = attacked
  const secret = 'The salary of Dr. Miriam Castellanos is 83942 and nobody may know it. '.repeat(4)
  const countCached = async (client: Client, content: string) =>
    (await ask(client, content)).body.usage.prompt_tokens_details?.cached_tokens ?? 0
  await countCached(member, secret)
  expect(await countCached(member, secret), 'the owner’s own').toBeGreaterThan(0)
  for (const guess of [secret, secret.replaceAll('83942', '11111')]) {
    await countCached(member, secret)
    expect(await countCached(viewer, guess)).toBe(0)
  }
})

test('M2: strangers who hold bodies leave room for the requests of others', async () => {
  const { server, member } = attacked
  const strangers = [await registerClient(server.url), await registerClient(server.url)]
  const held = Buffer.concat([Buffer.from('{"model":"nope","x":"'), Buffer.alloc(30_000_000, 'a')])
  const open: ClientRequest[] = []
  try {
    for (const stranger of [...strangers, ...strangers, ...strangers, ...strangers]) {
      const headers = {
        cookie: stranger.cookie(),
        'content-type': 'application/json',
        'content-length': 33_500_000,
      }
      const request = httpRequest(server.url + chats, { method: 'POST', headers, agent: false })
      request.on('error', () => undefined)
      open.push(request)
      // The server takes the bytes, or refuses them.
      await new Promise<void>((done) => {
        request.on('response', () => done()).on('close', () => done())
        request.write(held, () => done())
      })
    }
    for (let count = 0; count < 3; count += 1) {
      expect((await ask(member, 'x', { user: 'b'.repeat(30_000) })).status).toBe(200)
    }
  } finally {
    for (const each of open) each.destroy()
  }
})

test('M3: announced uploads take no room from other organizations', async () => {
  const { stranger, admin } = attacked
  for (let count = 0; count < 20; count += 1) await announceUpload(stranger, 9_000_000_000)
  expect((await announceUpload(admin, 10_000_000)).status).toBe(201)
})

const idOf = async (client: Client): Promise<number> => (await client.get('/v1/auth/session')).body.user.id

test('M4: between two chats of the owner, a viewer gets one request, however many choices it has', async () => {
  const { member, viewer } = attacked
  const [owner, attacker] = [await idOf(member), await idOf(viewer)]
  const log = watchAdmission(attacked.server)
  const wide = Array.from({ length: 24 }, () => ask(viewer, 'x', { n: 16, max_tokens: 4 }))
  await vi.waitFor(() => expect(log.filter(({ event }) => event === 'arrived')).toHaveLength(24), patience)
  for (let count = 0; count < 4; count += 1) expect((await ask(member, 'x')).status).toBe(200)
  await Promise.all(wide)
  vi.restoreAllMocks()
  const own = log.filter(({ event, userId }) => event === 'arrived' && userId === owner)
  expect(own).toHaveLength(4)
  for (const { request } of own) {
    const at = (event: string) => log.findIndex((each) => each.request === request && each.event === event)
    const of = (event: string, until: number, from = 0) =>
      log.slice(from, until).filter((each) => each.userId === attacker && each.event === event).length
    expect(of('sent', at('sent'), at('arrived'))).toBeLessThanOrEqual(1)
    // A request of more choices than the engine has sequences runs alone.
    expect(of('sent', at('sent')) - of('ended', at('sent'))).toBe(0)
  }
})

test('M6: a file whose template takes memory becomes no model, and an honest one does', async () => {
  const { stranger } = attacked
  const models = '/api/v1/deployable-models'
  const template =
    '{% set n = namespace(x=["a"]) %}{% for a in range(99) %}{% set n.x = n.x + n.x %}{% endfor %}'
  const file = makeGguf({ ...qwenMetadata, 'tokenizer.chat_template': template })
  const imported = await stranger.post(models, { upload_id: await uploadFile(stranger, file) })
  expect([imported.status, imported.body.code]).toEqual([422, 'no_runnable_weights'])
  const honest = await uploadFile(stranger, tiny)
  expect((await stranger.post(models, { upload_id: honest })).status).toBe(201)
})

test('nobody else reads a deployment: its log, cost and events are the owner’s and the admins’', async () => {
  const { viewer, stranger, id } = attacked
  for (const suffix of ['', '/events', '/logs', '/usage', '/statistics']) {
    for (const scope of ['', '?scope=organization']) {
      expect((await stranger.get(`${path}/${id}${suffix}${scope}`)).status, suffix).toBe(404)
    }
  }
  for (const suffix of ['/logs', '/usage']) {
    expect((await viewer.get(`${path}/${id}${suffix}?scope=organization`)).status, suffix).toBe(403)
  }
  expect((await stranger.post(chats, { model: id, messages: [] })).status).toBe(404)
})

describe('H2: one organization’s waiting deployment', () => {
  let answering: Awaited<ReturnType<typeof startAnsweringServer>>
  beforeAll(async () => {
    answering = await startAnsweringServer()
  })
  afterAll(() => answering?.close())

  test('blocks neither the new deployments nor the wakes of others', async () => {
    const { server, engine, runtime } = answering
    const attacker = await registerClient(server.url)
    const victim = await registerClient(server.url)
    const sleeping = (await deploy(victim)).id
    await victim.post(`${path}/${sleeping}/sleep`)
    await waitForStatus(victim, sleeping, 'sleeping')
    const busy = (await deploy(attacker)).id
    await attacker.patch(`${path}/${busy}`, { yields: true })
    // It is never idle.
    engine.answer((response, { body }) => {
      if (!body.includes('hold')) answerJson(response, '{"choices":[{"message":{"content":""}}]}')
    })
    const leaving = new AbortController()
    const held = fetch(server.url + chats, {
      method: 'POST',
      headers: { cookie: attacker.cookie(), 'content-type': 'application/json' },
      body: JSON.stringify({ model: busy, messages: [{ role: 'user', content: 'hold' }] }),
      signal: leaving.signal,
    }).catch(() => 'left')
    const defaults = createScriptedRuntime()
    runtime.answer({
      provision: (spec) =>
        // It needs more than is free, whoever gives up its own.
        spec.variant.modelType === 'embedding'
          ? { outcome: 'refused', code: 'no_capacity', message: 'All taken.' }
          : defaults.provision(spec),
    })
    const large = (await attacker.post(path, { model_name: 'berth-tiny-embedding' })).body.id
    await vi.waitFor(async () => {
      const { body } = await attacker.get(`${path}/${large}`)
      expect(body.status_message).toBe('Waiting until another deployment has given up its hardware.')
    }, patience)
    await deploy(victim)
    const woken = await victim.post(chats, { model: sleeping, messages: [{ role: 'user', content: 'x' }] })
    expect(woken.status).toBe(200)
    leaving.abort()
    expect(await held).toBe('left')
    await attacker.delete(`${path}/${large}`)
    await waitForStatus(attacker, large, 'terminated')
  })
})
