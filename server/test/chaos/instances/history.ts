import { createClient, registerClient } from '../../support/client.ts'
import type { Answer } from '../../support/client.ts'
import { pickFrom } from '../load.ts'
import { instanceTypes, nothingUsed } from './hardware.ts'
import type { Usage } from './hardware.ts'
import { call, change, deploymentsPath, explain, onAnyApi, send } from './owner.ts'
import type { Actor, Owned } from './owner.ts'
import type { Member, World } from './world.ts'

const bursts = [1, 1, 2, 5, 20, 100]
/**
 * What a caller may get instead of an answer: limits, no hardware, and deployments that start or have ended.
 */
const refusals = new Set([
  'rate_limited',
  'insufficient_quota',
  'no_capacity',
  'deployment_waking',
  'deployment_not_ready',
  'deployment_failed',
  // A busy machine is too slow for time that runs fast.
  'database_unavailable',
])
/** A process may learn of a deletion so much later. */
const noticeMilliseconds = 5_000
/** What an engine that was killed, or a deletion, explains */
const losses = new Set(['upstream_unavailable', 'upstream_timeout'])

/** An owner with up to three deployments, who does so many random things. */
export async function playHistory(
  world: World,
  seed: number,
  random: () => number,
  steps: number,
): Promise<Actor> {
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

/** Removes a deployment that a process has created without saying so, because it was killed. */
export async function removeUnacknowledged(actor: Actor, id: string): Promise<void> {
  if (actor.deployments.has(id)) return
  actor.deployments.set(id, own())
  await remove(actor, id)
}

function own(): Owned {
  return { deletedFrom: Infinity, deletedUntil: Infinity, policy: null, sent: new Map() }
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
    open: [],
  }
  return { seed, organizationId, world, random, client, ...nothing }
}

async function act(actor: Actor): Promise<void> {
  const { random } = actor
  const live = [...actor.deployments].filter(([, each]) => !isDeleted(each)).map(([id]) => id)
  const id = pickFrom(random, live)
  const choice = random()
  if (id === undefined || (choice < 0.04 && live.length < 3)) return deploy(actor)
  if (choice < 0.5) return ask(actor, id, pickFrom(random, bursts)!)
  if (choice < 0.66) return void (await change(actor, id, 'deployment.put_to_sleep'))
  if (choice < 0.74) return void (await change(actor, id, 'deployment.woken'))
  if (choice < 0.9) return changePolicy(actor, id)
  if (choice < 0.95) return void actor.world.hardware.breakEngine(id)
  if (choice < 0.98) return spendBudget(actor)
  return remove(actor, id)
}

async function deploy(actor: Actor): Promise<void> {
  // Without a type, an instance takes a half, and a whole place if no half is free.
  const type = pickFrom(actor.random, [...instanceTypes, undefined])
  const wanted = { model_name: 'berth-tiny', ...(type !== undefined && { instance_type: type }) }
  const { status, body } = await send(actor, 'POST', deploymentsPath, wanted)
  if (status === 201) actor.deployments.set(body.id, own())
  else explain(actor, 'POST', deploymentsPath, { status, body })
}

async function changePolicy(actor: Actor, id: string): Promise<void> {
  const { random } = actor
  const most = 1 + Math.floor(random() * 3)
  const policy = {
    min_instances: 1 + Math.floor(random() * most),
    max_instances: most,
    idle_minutes: random() < 0.5 ? 1 : null,
    yields: random() < 0.6,
    target_concurrency: 1 + Math.floor(random() * 3),
  }
  const { status } = await change(actor, id, 'deployment.updated', policy)
  if (status === 200) actor.deployments.get(id)!.policy = policy
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
  const owned = actor.deployments.get(id)!
  owned.deletedFrom = Math.min(owned.deletedFrom, actor.world.now())
  await change(actor, id, 'deployment.terminated')
  owned.deletedUntil = Math.min(owned.deletedUntil, actor.world.now())
}

const isDeleted = ({ deletedFrom }: Owned) => deletedFrom < Infinity

/** Sends requests at the same time, half of them to each API, and goes on. */
function ask(actor: Actor, id: string, count: number): void {
  for (let index = 0; index < count; index += 1) actor.open.push(askOnce(actor, id, index))
}

async function askOnce(actor: Actor, id: string, index: number): Promise<void> {
  const { world, asked, failures } = actor
  const api = world.apis[index % world.apis.length]!
  const kills = api.kills.length
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
  const isKilled = wasDown || api.kills.length > kills || isDown()
  const { deletedFrom, deletedUntil } = actor.deployments.get(id)!
  const isEnded = until > deletedFrom && from < deletedUntil + noticeMilliseconds
  const isBroken = isEnded || world.hardware.wasBroken(id, from, until)
  const isLost = code !== '' && ((isKilled && answer.status === 0) || (isKilled && answer.status >= 500))
  const isExplained =
    refusals.has(code) || (isBroken && losses.has(code)) || (isEnded && code === 'model_not_found') || isLost
  asked.push({ deploymentId: id, outcome: isLost ? 'lost' : code, usage: readUsage(answer.body) })
  if (answer.status !== 200 && !isExplained) {
    const engines = JSON.stringify(world.hardware.describe(id, from))
    failures.push(`a request got ${answer.status} ${code} after ${until - from} ms; its engines: ${engines}`)
  }
}

function readUsage({ usage }: Answer['body']): Usage {
  if (usage === undefined) return nothingUsed
  return { requests: 1, inputTokens: usage.prompt_tokens, outputTokens: usage.completion_tokens }
}
