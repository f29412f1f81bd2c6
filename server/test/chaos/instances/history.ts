import { createClient, registerClient } from '../../support/client.ts'
import type { Answer, Client } from '../../support/client.ts'
import { pickFrom } from '../load.ts'
import type { Member, World } from './world.ts'

/** A request whose answer the history knows. Times are in fast time. */
interface Asked {
  deploymentId: string
  outcome: string
  from: number
  until: number
}

/** What one history's owner has done and was answered. */
export interface History {
  readonly seed: number
  readonly organizationId: number
  /** With the largest `max_instances` that each has had */
  readonly deployments: Map<string, { most: number; isDeleted: boolean }>
  readonly asked: Asked[]
  /** Answers that nothing explains */
  readonly failures: string[]
  /** Times at which a budget that refuses wakes was in force */
  readonly blocked: { from: number; until: number }[]
  /** When engines of a deployment were killed or it was deleted, which ends what is in flight */
  readonly broken: Map<string, number[]>
}

type Actor = History & {
  world: World
  random: () => number
  client(api: Member): Client
  open: Promise<void>[]
}

const path = '/api/v1/model-deployments'
const bursts = [1, 1, 2, 5, 20, 100]
/** What a caller may get instead of an answer: limits, no hardware, and deployments that start or have ended. */
const refusals = new Set([
  'rate_limited',
  'insufficient_quota',
  'no_capacity',
  'deployment_waking',
  'deployment_not_ready',
  'model_not_found',
  'deployment_failed',
  // A busy machine is too slow for time that runs fast.
  'database_unavailable',
])
/** What an engine that was killed, or a deletion, explains */
const losses = new Set(['upstream_unavailable', 'upstream_timeout'])

/** An owner with up to three deployments, who does so many random things. */
export async function playHistory(
  world: World,
  seed: number,
  random: () => number,
  steps: number,
): Promise<History> {
  const actor = await begin(world, seed, random)
  for (let count = 1 + Math.floor(random() * 3); count > 0; count -= 1) await deploy(actor)
  for (let step = 0; step < steps; step += 1) {
    await act(actor)
    await world.pass(random() * random() * 8_000)
  }
  await Promise.all(actor.open)
  for (const [id] of actor.deployments) await remove(actor, id)
  return actor
}

async function begin(world: World, seed: number, random: () => number): Promise<Actor> {
  const registered = await onAnyApi(world, ({ url }) => registerClient(url))
  const { organizationId } = await onAnyApi(world, async ({ url }) => {
    const client = createClient(url)
    client.setCookie(registered.cookie())
    return { organizationId: (await client.get('/v1/organization')).body.id as number }
  })
  const client = ({ url }: Member) => {
    const created = createClient(url)
    created.setCookie(registered.cookie())
    return created
  }
  const nothing = {
    deployments: new Map(),
    asked: [],
    failures: [],
    blocked: [],
    broken: new Map(),
    open: [],
  }
  return { seed, organizationId, world, random, client, ...nothing }
}

async function act(actor: Actor): Promise<void> {
  const { random } = actor
  const live = [...actor.deployments].filter(([, { isDeleted }]) => !isDeleted).map(([id]) => id)
  const id = pickFrom(random, live)
  const choice = random()
  if (id === undefined || (choice < 0.04 && live.length < 3)) return deploy(actor)
  if (choice < 0.5) return ask(actor, id, pickFrom(random, bursts)!)
  if (choice < 0.66) return call(actor, 'POST', `${path}/${id}/sleep`)
  if (choice < 0.74) return call(actor, 'POST', `${path}/${id}/wake`)
  if (choice < 0.9) return changePolicy(actor, id)
  if (choice < 0.95) return breakEngine(actor, id)
  if (choice < 0.98) return spendBudget(actor)
  return remove(actor, id)
}

async function deploy(actor: Actor): Promise<void> {
  const { status, body } = await send(actor, 'POST', path, { model_name: 'berth-tiny' })
  if (status === 201) actor.deployments.set(body.id, { most: 1, isDeleted: false })
  else explain(actor, 'POST', path, { status, body })
}

async function changePolicy(actor: Actor, id: string): Promise<void> {
  const { random } = actor
  const most = 1 + Math.floor(random() * 3)
  const known = actor.deployments.get(id)!
  // Also if the answer is lost.
  known.most = Math.max(known.most, most)
  await call(actor, 'PATCH', `${path}/${id}`, {
    min_instances: 1 + Math.floor(random() * most),
    max_instances: most,
    idle_minutes: random() < 0.5 ? 1 : null,
    yields: random() < 0.6,
    target_concurrency: 1 + Math.floor(random() * 3),
  })
}

function breakEngine(actor: Actor, id: string): void {
  if (actor.world.hardware.breakEngine(id)) noteLoss(actor, id)
}

function noteLoss({ broken, world }: Actor, id: string): void {
  broken.set(id, [...(broken.get(id) ?? []), world.now()])
}

/** For a while, a budget refuses wakes. */
async function spendBudget(actor: Actor): Promise<void> {
  const budget = { scope: 'organization', monthly_limit: '0.000001', at_limit: 'sleep' }
  const { status, body } = await send(actor, 'POST', '/v1/billing/budgets', budget)
  if (status !== 200) return explain(actor, 'POST', '/v1/billing/budgets', { status, body })
  const from = actor.world.now()
  await actor.world.pass(actor.random() * 10_000)
  actor.blocked.push({ from, until: actor.world.now() })
  await call(actor, 'DELETE', `/v1/billing/budgets/${body.id}`)
}

async function remove(actor: Actor, id: string): Promise<void> {
  noteLoss(actor, id)
  await call(actor, 'DELETE', `${path}/${id}`)
  actor.deployments.get(id)!.isDeleted = true
}

/** Sends requests at the same time, half of them to each API, and goes on. */
function ask(actor: Actor, id: string, count: number): void {
  for (let index = 0; index < count; index += 1) actor.open.push(askOnce(actor, id, index))
}

async function askOnce(actor: Actor, id: string, index: number): Promise<void> {
  const { world, asked, failures, broken } = actor
  const api = world.apis[index % world.apis.length]!
  const { kills } = api
  const isDown = () => api.child.killed
  const wasDown = isDown()
  const from = world.now()
  const chat = { model: id, messages: [{ role: 'user', content: 'Hello' }] }
  const answer = await actor
    .client(api)
    .post('/v1/chat/completions', chat)
    .catch((error: unknown) => ({ status: 0, body: { error: { code: String(error) } } }))
  const until = world.now()
  const code: string = answer.body.error?.code ?? ''
  const isKilled = wasDown || api.kills > kills || isDown()
  const isBroken = (broken.get(id) ?? []).some((at) => at > from - 20_000 && at < until)
  const isLost = code !== '' && ((isKilled && answer.status === 0) || (isKilled && answer.status >= 500))
  const isExplained = refusals.has(code) || (isBroken && losses.has(code)) || isLost
  asked.push({ deploymentId: id, outcome: isLost ? 'lost' : code, from, until })
  if (answer.status !== 200 && !isExplained) {
    failures.push(`a request got ${answer.status} ${JSON.stringify(answer.body)} after ${until - from} ms`)
  }
}

async function call(actor: Actor, method: string, url: string, body?: object): Promise<void> {
  explain(actor, method, url, await send(actor, method, url, body))
}

const expected: Record<string, readonly string[]> = {
  POST: [
    'deployment_not_ready',
    'deployment_ended',
    'budget_exhausted',
    'resource_limit_reached',
    'not_found',
    'budget_exists',
  ],
  PATCH: ['deployment_ended', 'resource_limit_reached', 'not_found'],
  DELETE: ['not_found'],
}

function explain(
  { failures }: Actor,
  method: string,
  url: string,
  { status, body }: Pick<Answer, 'status' | 'body'>,
): void {
  if (status < 300 || expected[method]!.includes(body.code)) return
  failures.push(`${method} ${url} got ${status} ${JSON.stringify(body)}`)
}

/** Sends a change, again if the process is killed meanwhile. */
function send(actor: Actor, method: string, url: string, body?: object): Promise<Answer> {
  return onAnyApi(actor.world, async (api) => {
    const answer = await actor.client(api).request(method, url, body)
    if (answer.body?.code === 'database_unavailable') throw new Error('The database is too slow.')
    return answer
  })
}

async function onAnyApi<Result>(world: World, run: (api: Member) => Promise<Result>): Promise<Result> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await run(world.apis[tries % world.apis.length]!)
    } catch (error) {
      if (tries > 100) throw error
      await world.pass(500)
    }
  }
}
