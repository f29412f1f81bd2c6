import { setTimeout as delay } from 'node:timers/promises'
import { createClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'

/** What an account knows of one of its deployments: the server must not know less. */
export type Knowledge = 'created' | 'deletion sent' | 'deletion answered'

/** One account and what it was told. */
export interface Tenant {
  cookie: string
  /** Creations under way */
  creating: number
  deployments: Map<string, Knowledge>
}

export interface LoadCounts {
  created: number
  deleted: number
  chats: number
  reads: number
  /** Requests that the kill cut off */
  cutOff: number
}

/** Numbers from 0 to 1 that a seed determines (mulberry32 of Tommy Ettinger, public domain). */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export function pickFrom<T>(random: () => number, items: readonly T[]): T | undefined {
  return items[Math.floor(random() * items.length)]
}

/** A caller with the session of a tenant. */
export function clientOf(url: string, tenant: Tenant): Client {
  const client = createClient(url)
  client.setCookie(tenant.cookie)
  return client
}

export interface Load {
  url: string
  counts: LoadCounts
  /** Becomes true right before something is killed: only then may a request be cut off or answered with a 5xx */
  dying: boolean
  /** Answers that should not have been */
  complaints: string[]
  /** What is deployed; both bundled models where nothing is said */
  models?: readonly [string, string] | undefined
}

const livePerTenant = 2

/** Creates, deletes, chats and reads in random order until the server is gone. */
export async function useServer(load: Load, tenant: Tenant, random: () => number): Promise<void> {
  const client = clientOf(load.url, tenant)
  const { counts } = load
  for (;;) {
    const live = [...tenant.deployments].flatMap(([id, known]) => (known === 'deletion answered' ? [] : [id]))
    const one = pickFrom(random, live)
    const dice = random()
    try {
      if (live.length + tenant.creating < livePerTenant && (one === undefined || dice < 0.4)) {
        await create(load, client, tenant, random)
      } else if (one !== undefined) {
        if (dice > 0.9) await remove(load, client, tenant, one)
        else if (dice > 0.5) await chat(load, client, tenant, one)
        else await read(load, client, one)
      }
      if (load.dying) return
    } catch (error) {
      if (!load.dying) load.complaints.push(`a request failed while nothing was killed: ${describe(error)}`)
      counts.cutOff += 1
      return
    }
    await delay(random() * 60)
  }
}

async function create(load: Load, client: Client, tenant: Tenant, random: () => number): Promise<void> {
  const [often, seldom] = load.models ?? ['berth-tiny', 'berth-tiny-embedding']
  const model_name = random() < 0.7 ? often : seldom
  tenant.creating += 1
  try {
    const { status, body } = await client.post('/api/v1/model-deployments', { model_name })
    if (status !== 201) return judge(load, 'create', status, [409])
    load.counts.created += 1
    tenant.deployments.set(body.id, 'created')
  } finally {
    tenant.creating -= 1
  }
}

async function remove(load: Load, client: Client, tenant: Tenant, id: string): Promise<void> {
  // Another caller of the tenant may have had its answer already.
  if (tenant.deployments.get(id) === 'created') tenant.deployments.set(id, 'deletion sent')
  const { status } = await client.delete(`/api/v1/model-deployments/${id}`)
  if (status !== 200) return judge(load, 'delete', status, [])
  load.counts.deleted += 1
  tenant.deployments.set(id, 'deletion answered')
}

async function chat(load: Load, client: Client, tenant: Tenant, id: string): Promise<void> {
  const isDeleted = () => tenant.deployments.get(id) !== 'created'
  const request = {
    model: id,
    messages: [{ role: 'user', content: 'Go on.' }],
    max_tokens: 400,
    stream: true,
  }
  try {
    const { status } = await client.post('/v1/chat/completions', request)
    // 400 is a model for embeddings, 502 and 503 one that is not up yet or no longer, 404 one that was terminated.
    judge(load, 'chat', status, isDeleted() ? [200, 400, 404, 502, 503] : [200, 400, 502, 503])
    if (status === 200) load.counts.chats += 1
  } catch (error) {
    // Its termination may cut a stream short.
    if (!isDeleted() || load.dying) throw error
  }
}

async function read(load: Load, client: Client, id: string): Promise<void> {
  for (const path of ['', `/${id}`, `/${id}/events`, `/${id}/logs`, `/${id}/usage`]) {
    const { status } = await client.get(`/api/v1/model-deployments${path}`)
    judge(load, `read ${path}`, status, [200])
    load.counts.reads += 1
  }
}

function judge(load: Load, what: string, status: number, expected: readonly number[]): void {
  if (expected.includes(status) || (load.dying && status >= 500)) return
  load.complaints.push(`${what} was answered with ${status}`)
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause === undefined ? error.message : `${error.message} (${describe(error.cause)})`
}
