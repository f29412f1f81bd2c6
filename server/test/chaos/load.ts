import { setTimeout as delay } from 'node:timers/promises'
import { createClient } from '../support/client.ts'
import { waitUntil } from '../support/process.ts'
import type { Client } from '../support/client.ts'

/** What the server has acknowledged about a deployment. A restart must not lose it. */
export type Acknowledged = 'created' | 'deletion sent' | 'deletion answered'

/** An account with the acknowledged state of its deployments. */
export interface Tenant {
  cookie: string
  /** Creations in flight */
  creating: number
  deployments: Map<string, Acknowledged>
}

export interface LoadCounts {
  created: number
  deleted: number
  chats: number
  reads: number
  /** Requests interrupted by a kill */
  interrupted: number
}

/** A seeded random number generator from 0 to 1 (mulberry32 by Tommy Ettinger, public domain). */
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

/** A client with the tenant's session. */
export function clientOf(url: string, tenant: Tenant): Client {
  const client = createClient(url)
  client.setCookie(tenant.cookie)
  return client
}

const defaultSettleMs = 60_000

/**
 * Waits until no deployment of the tenant changes anymore and all acknowledged deletions are done. Resolves
 * to the deployments.
 */
export async function waitUntilSettled(
  client: Client,
  tenant: Tenant,
  timeoutMs = defaultSettleMs,
): Promise<any[]> {
  let items: any[] = []
  const haveSettled = async () => {
    const answer = await client.get('/api/v1/model-deployments?limit=500')
    if (answer.status !== 200) throw new Error(`the list of deployments answered ${answer.status}`)
    items = answer.body.items
    return items.every(({ id, status }) =>
      tenant.deployments.get(id) === 'deletion answered'
        ? status === 'terminated'
        : ['running', 'failed', 'terminated'].includes(status),
    )
  }
  await waitUntil(
    haveSettled,
    timeoutMs,
    () => `all deployments to settle: ${JSON.stringify(items, null, 2)}`,
  )
  return items
}

/** Waits until each running deployment of the tenant has answered a request. */
export async function expectInference(client: Client, timeoutMs = defaultSettleMs): Promise<void> {
  const failed = await awaitInference(client, timeoutMs)
  if (failed.length > 0) throw new Error(`deployments have failed: ${failed.join(', ')}`)
}

/**
 * Waits until each running deployment of the tenant has answered a request or failed. Resolves to the ids of
 * the failed ones.
 */
export async function awaitInference(client: Client, timeoutMs: number): Promise<string[]> {
  const failed: string[] = []
  const { body } = await client.get('/api/v1/model-deployments?limit=500')
  for (const { id, model_name } of body.items.filter(({ status }: any) => status === 'running')) {
    const ask = () =>
      model_name === 'berth-tiny'
        ? client.post('/v1/chat/completions', {
            model: id,
            messages: [{ role: 'user', content: 'Hi' }],
            max_tokens: 4,
          })
        : client.post('/v1/embeddings', { model: id, input: 'Hi' })
    // A killed engine may be noticed, and restarted, only when a request fails.
    let answer = await ask()
    const hasFailed = (): boolean => answer.body.error?.code === 'deployment_failed'
    await waitUntil(
      async () => {
        if (answer.status !== 200) answer = await ask()
        return answer.status === 200 || hasFailed()
      },
      timeoutMs,
      () => `${id} to answer 200; last response: ${answer.status} ${JSON.stringify(answer.body)}`,
    )
    if (hasFailed()) failed.push(id)
  }
  return failed
}

/** How much load there is. */
export interface Pace {
  /** Deployments of each tenant at a time */
  live: number
  /** The longest pause between two requests of a caller */
  pauseMs: number
  /** The share of requests that delete a deployment */
  deletions: number
}

export const defaultPace: Pace = { live: 2, pauseMs: 60, deletions: 0.1 }

export interface Load {
  url: string
  counts: LoadCounts
  /** Set right before a kill. From then on requests may be interrupted or answered with a 5xx */
  isKilling: boolean
  /** Unexpected responses */
  failures: string[]
  /** Models to deploy; default both bundled models */
  models?: readonly [string, string] | undefined
  pace?: Pace | undefined
  /** Set while engines are being killed: chats may break, but nothing else */
  areEnginesKilled?: boolean
  /** Set while the backend is being killed: engine logs may be unavailable */
  areLogsCut?: boolean
}

/** Creates, deletes, chats and reads in random order until the server is killed. */
export async function useServer(load: Load, tenant: Tenant, random: () => number): Promise<void> {
  const client = clientOf(load.url, tenant)
  const { counts } = load
  const { live: livePerTenant, pauseMs, deletions } = load.pace ?? defaultPace
  for (;;) {
    const live = [...tenant.deployments].flatMap(([id, known]) => (known === 'deletion answered' ? [] : [id]))
    const target = pickFrom(random, live)
    const dice = random()
    try {
      if (live.length + tenant.creating < livePerTenant && (target === undefined || dice < 0.4)) {
        await create(load, client, tenant, random)
      } else if (target !== undefined) {
        if (dice > 1 - deletions) await remove(load, client, tenant, target)
        else if (dice > 0.5) await chat(load, client, tenant, target)
        else await read(load, client, target)
      }
      if (load.isKilling) return
    } catch (error) {
      if (!load.isKilling) load.failures.push(`a request failed before the kill: ${describe(error)}`)
      counts.interrupted += 1
      return
    }
    await delay(random() * pauseMs)
  }
}

async function create(load: Load, client: Client, tenant: Tenant, random: () => number): Promise<void> {
  const [common, rare] = load.models ?? ['berth-tiny', 'berth-tiny-embedding']
  const model_name = random() < 0.7 ? common : rare
  tenant.creating += 1
  try {
    const { status, body } = await client.post('/api/v1/model-deployments', { model_name })
    if (status !== 201) return checkStatus(load, 'create', status, [409])
    load.counts.created += 1
    tenant.deployments.set(body.id, 'created')
  } finally {
    tenant.creating -= 1
  }
}

async function remove(load: Load, client: Client, tenant: Tenant, id: string): Promise<void> {
  // Another caller of the same tenant may already have its response.
  if (tenant.deployments.get(id) === 'created') tenant.deployments.set(id, 'deletion sent')
  const { status } = await client.delete(`/api/v1/model-deployments/${id}`)
  if (status !== 200) return checkStatus(load, 'delete', status, [])
  load.counts.deleted += 1
  tenant.deployments.set(id, 'deletion answered')
}

async function chat(load: Load, client: Client, tenant: Tenant, id: string): Promise<void> {
  const isDeleted = () => tenant.deployments.get(id) !== 'created'
  const mayBreak = () => load.isKilling || load.areEnginesKilled === true
  const request = {
    model: id,
    messages: [{ role: 'user', content: 'Go on.' }],
    max_tokens: 400,
    stream: true,
  }
  try {
    const { status, body } = await client.post('/v1/chat/completions', request)
    // 400: an embedding model. 502 and 503: starting or stopping. 404: terminated.
    // The backend's own 5xx passes through.
    if (!(mayBreak() && status >= 500))
      checkStatus(load, 'chat', status, isDeleted() ? [200, 400, 404, 502, 503] : [200, 400, 502, 503])
    if (status !== 200) return
    const isComplete = String(body).includes('data: [DONE]')
    if (isComplete) load.counts.chats += 1
    else if (!isDeleted() && !mayBreak())
      load.failures.push(`a stream of ${id} ended early: ${body.slice(-300)}`)
  } catch (error) {
    // Terminating the deployment may interrupt the stream.
    if (load.isKilling || !(isDeleted() || mayBreak())) throw error
  }
}

async function read(load: Load, client: Client, id: string): Promise<void> {
  for (const path of ['', `/${id}`, `/${id}/events`, `/${id}/logs`, `/${id}/usage`]) {
    const { status } = await client.get(`/api/v1/model-deployments${path}`)
    const mayFail = path.endsWith('/logs') && load.areLogsCut === true
    checkStatus(load, `read ${path}`, status, mayFail ? [200, 503] : [200])
    load.counts.reads += 1
  }
}

function checkStatus(load: Load, action: string, status: number, expected: readonly number[]): void {
  if (expected.includes(status) || (load.isKilling && status >= 500)) return
  load.failures.push(`${action} answered ${status}`)
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause === undefined ? error.message : `${error.message} (${describe(error.cause)})`
}
