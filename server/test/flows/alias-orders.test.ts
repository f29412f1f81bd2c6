import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { registerClient } from '../support/client.ts'
import type { Answer, Client } from '../support/client.ts'
import { waitForStatus } from '../support/deployments.ts'
import { ask, order, startOrderedAliases } from '../support/ordered-aliases.ts'
import type { OrderedAliases, Place } from '../support/ordered-aliases.ts'
import { createCast, joinClient } from '../support/organizations.ts'

const path = '/api/v1/model-deployments'
const alias = 'assistant'

let aliases: OrderedAliases
let owner: Client
beforeAll(async () => {
  aliases = await startOrderedAliases()
})
beforeEach(async () => {
  owner = await registerClient(aliases.server.url)
})
afterAll(() => aliases.close())

/** Two deployments of one alias, the first one first. */
async function openTwo(): Promise<[Place, Place]> {
  const first = await aliases.open(owner)
  const second = await aliases.open(owner)
  await order(owner, alias, [first, second])
  return [first, second]
}

const change = (id: string, body: object) => owner.patch(`${path}/${id}`, body)
const contentOf = ({ body }: Answer) => body.choices?.[0].message.content

/** The chat was answered by this deployment, which the response names. */
function expectAnswerOf(answer: Answer, { id }: Place): void {
  expect([answer.status, contentOf(answer)], JSON.stringify(answer.body)).toEqual([200, id])
  expect(answer.headers.get('x-berth-deployment')).toBe(id)
}

async function sleep({ id }: Place): Promise<void> {
  await owner.post(`${path}/${id}/sleep`)
  await waitForStatus(owner, id, 'sleeping')
}

test('requests by an alias with an order go to the lowest one', async () => {
  const [first, second] = await openTwo()
  for (let count = 0; count < 4; count += 1) expectAnswerOf(await ask(owner, alias), first)
  expect(second.engine.requests).toHaveLength(0)
  await order(owner, alias, [second, first])
  expectAnswerOf(await ask(owner, alias), second)
})

test('without an order, an alias spreads over its deployments, and no response names one', async () => {
  const [first, second] = await openTwo()
  for (const { id } of [first, second]) await change(id, { alias_order: null })
  const free = await aliases.fill(owner, first)
  const answer = await ask(owner, alias)
  expect([contentOf(answer), answer.headers.get('x-berth-deployment')]).toEqual([second.id, null])
  await free()
  expect((await ask(owner, first.id)).headers.get('x-berth-deployment')).toBeNull()
})

test('deployments of one order share its requests, and those without an order come last', async () => {
  const [first, second] = await openTwo()
  const last = await aliases.open(owner)
  await change(second.id, { alias_order: 1 })
  await change(last.id, { alias })
  const free = [await aliases.fill(owner, first)]
  expectAnswerOf(await ask(owner, alias), second)
  free.push(await aliases.fill(owner, second))
  expectAnswerOf(await ask(owner, alias), last)
  for (const each of free) await each()
})

test.each([true, false])(
  'a full deployment leaves requests to the next one (streams: %s)',
  async (stream) => {
    const [first, second] = await openTwo()
    const free = await aliases.fill(owner, first)
    const answer = await ask(owner, alias, { stream })
    expect([answer.status, answer.headers.get('x-berth-deployment')]).toEqual([200, second.id])
    expect(stream ? answer.body : contentOf(answer)).toContain(second.id)
    await free()
    expectAnswerOf(await ask(owner, alias), first)
  },
)

test('a request waits for a place at a lower order before it goes to the next one', async () => {
  const [first] = await openTwo()
  const free = await aliases.fill(owner, first)
  const asked = ask(owner, alias)
  await expect.poll(() => aliases.server.application.inference.admission.queued).toBe(1)
  await free()
  expectAnswerOf(await asked, first)
})

test.each(['refuses', 'breaks', 'lost the model', 'rejects its key'] as const)(
  'a deployment whose engine %s leaves requests to the next one',
  async (behavior) => {
    const [first, second] = await openTwo()
    first.behavior = behavior
    expectAnswerOf(await ask(owner, alias), second)
    expect([first.engine.requests.length, second.engine.requests.length]).toEqual([1, 1])
  },
)

test('deployments that are away leave requests to the next one, also several', async () => {
  const places = [await aliases.open(owner), await aliases.open(owner), await aliases.open(owner)]
  await order(owner, alias, places)
  for (const { engine } of places.slice(0, 2)) await engine.close()
  for (let count = 0; count < 5; count += 1) expectAnswerOf(await ask(owner, alias), places[2]!)
  places[0]!.engine.close = places[1]!.engine.close = async () => {}
})

test('a request that broke two engines goes to no third one', async () => {
  const places = [await aliases.open(owner), await aliases.open(owner), await aliases.open(owner)]
  await order(owner, alias, places)
  for (const place of places.slice(0, 2)) place.behavior = 'breaks'
  expect((await ask(owner, alias)).status).toBe(502)
  expect(places.map(({ engine }) => engine.requests.length)).toEqual([1, 1, 0])
})

test('a failed deployment leaves requests to the next one', async () => {
  await aliases.openFailed(owner, alias, 1)
  const second = await aliases.open(owner)
  await change(second.id, { alias, alias_order: 2 })
  expectAnswerOf(await ask(owner, alias), second)
})

test('a deployment that wakes in time serves the request; one that takes longer leaves it to the next one', async () => {
  const [first, second] = await openTwo()
  await sleep(first)
  expectAnswerOf(await ask(owner, alias, { headers: { 'x-scale-up-timeout': '30' } }), first)
  await sleep(first)
  first.behavior = 'starts'
  const slow = await ask(owner, alias, { headers: { 'x-scale-up-timeout': '0' } })
  expectAnswerOf(slow, second)
  expect((await owner.get(`${path}/${first.id}`)).body.status).not.toBe('sleeping')
})

test('a request without time left wakes only the first deployment', async () => {
  const [first, second] = await openTwo()
  for (const place of [first, second]) {
    await sleep(place)
    place.behavior = 'starts'
  }
  const refused = await ask(owner, alias, { headers: { 'x-scale-up-timeout': '0' } })
  expect(refused).toMatchObject({ status: 503, body: { error: { code: 'deployment_waking' } } })
  expect((await owner.get(`${path}/${second.id}`)).body.status).toBe('sleeping')
})

test('a caller forbids it with X-Berth-Fallback: no', async () => {
  const [first, second] = await openTwo()
  first.behavior = 'refuses'
  for (const forbids of ['no', 'No', 'maybe']) {
    const answer = await ask(owner, alias, { headers: { 'x-berth-fallback': forbids } })
    expect([answer.status, answer.headers.get('x-berth-deployment')]).toEqual([429, first.id])
  }
  expectAnswerOf(await ask(owner, alias, { headers: { 'x-berth-fallback': 'yes' } }), second)
  await sleep(first)
  first.behavior = 'starts'
  const headers = { 'x-berth-fallback': 'no', 'x-scale-up-timeout': '0' }
  expect((await ask(owner, alias, { headers })).body.error.code).toBe('deployment_waking')
})

test('when all fail, the caller gets the error of the first, and which others were tried', async () => {
  const [first, second] = await openTwo()
  const third = await aliases.openFailed(owner, alias, 3)
  const free = await aliases.fill(owner, first)
  await second.engine.close()
  const refused = await ask(owner, alias)
  second.engine.close = async () => {}
  await free()
  expect(refused).toMatchObject({ status: 429, body: { error: { code: 'rate_limited' } } })
  expect(refused.headers.get('retry-after')).not.toBeNull()
  expect(refused.body.error.fallbacks).toEqual([
    { deployment_id: second.id, alias_order: 2, code: 'upstream_unavailable' },
    { deployment_id: third.id, alias_order: 3, code: 'deployment_failed' },
  ])
  expect(refused.body.error.message).toContain('berth-tiny (order 2): The engine can’t be reached.')
  const anthropic = await owner.request(
    'POST',
    '/v1/messages',
    { model: alias, max_tokens: 5, messages: [{ role: 'user', content: 'Hello' }] },
    { 'anthropic-version': '2023-06-01' },
  )
  expect(anthropic.status).toBe(200)
})

test('a request that does not fit the first gets its error; one that does not fit a later one passes it over', async () => {
  const [first, second] = await openTwo()
  const embedding = await aliases.open(owner, 'berth-tiny-embedding')
  await order(owner, alias, [first, embedding, second])
  const wrong = await owner.post('/v1/embeddings', { model: alias, input: 'Hello' })
  expect(wrong).toMatchObject({ status: 400, body: { error: { code: 'invalid_request_error' } } })
  first.behavior = 'refuses'
  expectAnswerOf(await ask(owner, alias), second)
  await change(second.id, { alias: null })
  const refused = await ask(owner, alias)
  expect(refused.body.error).toMatchObject({
    code: 'rate_limited',
    fallbacks: [{ deployment_id: embedding.id, alias_order: 2, code: 'invalid_request_error' }],
  })
})

test('usage, statistics and the request log name the deployment that served, and count the request once', async () => {
  const [first, second] = await openTwo()
  first.behavior = 'refuses'
  expectAnswerOf(await ask(owner, alias), second)
  const usage = async ({ id }: Place) => (await owner.get(`${path}/${id}/usage`)).body.requests
  await expect.poll(() => usage(second)).toBe(1)
  expect(await usage(first)).toBe(0)
  await expect.poll(async () => (await owner.get('/v1/requests')).body.items.length).toBe(1)
  const { items } = (await owner.get('/v1/requests')).body
  expect(items).toMatchObject([{ deployment: { id: second.id }, status: 200 }])
})

test('a request that no deployment served is logged once', async () => {
  const [first, second] = await openTwo()
  for (const place of [first, second]) place.behavior = 'refuses'
  expect((await ask(owner, alias)).status).toBe(429)
  await expect.poll(async () => (await owner.get('/v1/requests')).body.items.length).toBe(1)
})

test('only deployments that the caller may call are asked', async () => {
  const cast = await createCast(aliases.server)
  owner = cast.member
  const [first, second] = await openTwo()
  const third = await aliases.open(owner)
  await change(third.id, { alias, alias_order: 3 })
  for (const { id } of [second, third]) await change(id, { shared_with: 'organization' })
  const colleague = await joinClient(aliases.server, cast.admin, 'viewer')
  expectAnswerOf(await ask(colleague, alias), second)
  second.behavior = 'refuses'
  expectAnswerOf(await ask(colleague, alias), third)
  await change(third.id, { shared_with: null })
  const refused = await ask(colleague, alias)
  expect(refused.status).toBe(429)
  expect(refused.body.error).not.toHaveProperty('fallbacks')
  expectAnswerOf(await ask(owner, alias), first)
})

test('a caller who loses access while a request waits at one deployment reaches no other', async () => {
  const cast = await createCast(aliases.server)
  owner = cast.member
  const [first, second] = await openTwo()
  for (const { id } of [first, second]) await change(id, { shared_with: 'organization' })
  const colleague = await joinClient(aliases.server, cast.admin, 'viewer')
  await sleep(first)
  first.behavior = 'starts'
  const asked = ask(colleague, alias, { headers: { 'x-scale-up-timeout': '1' } })
  await expect.poll(() => aliases.server.application.inference.waking.held).toBe(1)
  const { body: members } = await cast.superAdmin.get('/v1/organization/members')
  const list = members.items ?? members
  const { id } = list.find(({ email }: { email: string }) => email === colleague.email)
  expect((await cast.superAdmin.delete(`/v1/organization/members/${id}`)).status).toBe(204)
  expect((await asked).status).toBeGreaterThanOrEqual(400)
  expect(second.engine.requests).toHaveLength(0)
})

test('a shared deployment with a next one lets nobody wait for turns', async () => {
  const [first, second] = await openTwo()
  for (const { id } of [first, second]) await change(id, { shared_with: 'organization' })
  const free = await aliases.fill(owner, first)
  expectAnswerOf(await ask(owner, alias), second)
  await free()
})

test('the end of a deployment leaves its alias to the others', async () => {
  const [first, second] = await openTwo()
  await owner.delete(`${path}/${first.id}`)
  await waitForStatus(owner, first.id, 'terminated')
  expectAnswerOf(await ask(owner, alias), second)
})

test('the list of models has the alias once, with its deployments in their order', async () => {
  const [first, second] = await openTwo()
  await order(owner, alias, [second, first])
  const { data } = (await owner.get('/v1/models')).body
  const named = data.filter(({ id }: { id: string }) => id === alias)
  expect(named).toMatchObject([{ deployments: [second.id, first.id] }])
  expect((await owner.get(`/v1/models/${alias}`)).body.deployments).toEqual([second.id, first.id])
})

test('an order is from 1 to 1000, needs an alias and ends with it', async () => {
  const { id } = await aliases.open(owner)
  expect((await change(id, { alias_order: 1 })).body.errors).toMatchObject([{ field: 'alias_order' }])
  for (const bad of [0, 1001, 1.5, '1'])
    expect((await change(id, { alias, alias_order: bad })).status).toBe(422)
  expect((await change(id, { alias, alias_order: 2 })).body).toMatchObject({ alias, alias_order: 2 })
  expect((await change(id, { alias: 'other' })).body.alias_order, 'stays').toBe(2)
  const { items } = (await owner.get(`${path}/${id}/events`)).body
  expect(items.map(({ message }: { message: string }) => message)).toContainEqual(
    expect.stringContaining('place 2 in the order of its alias'),
  )
  expect((await change(id, { alias: null })).body).toMatchObject({ alias: null, alias_order: null })
  const audit = (await owner.get('/v1/organization/audit-log?action=deployment.updated')).body
  expect(audit.items[0].details).toMatchObject({ alias_order: null, before: { alias_order: 2 } })
})

test(
  'a stream that waited for a wake says in a comment which deployment answers',
  { timeout: 60_000 },
  async () => {
    const [first, second] = await openTwo()
    await sleep(first)
    first.behavior = 'starts'
    onTestFinished(() => void (first.behavior = 'answers'))
    const { body } = await ask(owner, alias, { stream: true, headers: { 'x-scale-up-timeout': '11' } })
    expect(body).toContain(`: x-berth-deployment: ${second.id}`)
    expect(body).toContain(`"content":"${second.id}"`)
  },
)
