import { execFileSync } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { join } from 'node:path'
import OpenAI from 'openai'
import { query } from '../../database/scratch.ts'
import { createClient, registerClient } from '../../support/client.ts'
import type { Answer, Client } from '../../support/client.ts'
import { startHaproxy } from '../../support/haproxy.ts'
import { waitUntil } from '../../support/process.ts'
import { findPostgresPrograms, startReplicatedDatabase } from '../../support/own-postgres.ts'
import type { ReplicatedDatabase } from '../../support/own-postgres.ts'
import { startXinferenceSimulator } from '../../xinference/simulator/simulator.ts'
import type { XinferenceSimulator } from '../../xinference/simulator/simulator.ts'
import type { Backend } from '../components.ts'
import { startMembers } from '../fleet.ts'
import type { Member } from '../fleet.ts'
import { toBackend } from '../simulator-backend.ts'
import { startSampling } from '../usage-checks.ts'

/** Two APIs behind haproxy, two workers, a primary with a standby, a compute backend, and a person. */
export interface World {
  url: string
  members: readonly Member[]
  database: ReplicatedDatabase
  simulator: XinferenceSimulator
  backend: Backend
  sampling: ReturnType<typeof startSampling>
  person: Client
  openai: OpenAI
  /** A deployment that runs all the time */
  model: string
}

export async function openWorld(cleanup: AsyncDisposableStack): Promise<World> {
  const programs = await findPostgresPrograms()
  if (programs === null) throw new Error('This machine has no PostgreSQL programs (pg_config).')
  const database = await startReplicatedDatabase(programs, 'berth')
  cleanup.defer(() => database.stop())
  const simulator = await startXinferenceSimulator()
  cleanup.defer(() => simulator.close())
  const backend = toBackend(simulator)
  const members = await startMembers(
    {
      DATABASE_URL: database.url,
      ...backend.settings,
      BILLING_TRIAL_CREDIT: '1000000',
      BILLING_TRIAL_MAX_ACTIVE: '10',
      NODE_OPTIONS: `--import ${join(import.meta.dirname, 'step-clock.ts')}`,
    },
    cleanup,
    (folder) => mountDisk(folder, cleanup),
  )
  const apis = members.filter(({ role }) => role === 'api')
  const urls = await Promise.all(apis.map(({ server }) => server.listening))
  const url = await startHaproxy(urls, cleanup)
  const person = await registerClient(url)
  const { body } = await person.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })
  const model: string = body.id
  const isRunning = async () =>
    (await person.get(`/api/v1/model-deployments/${model}`)).body.status === 'running'
  await waitUntil(isRunning, 120_000, 'the deployment to run')
  // Each process knows the person from now on.
  for (const each of urls) {
    const direct = createClient(each)
    direct.setCookie(person.cookie())
    await direct.post('/v1/chat/completions', {
      model,
      messages: [{ role: 'user', content: 'Hi' }],
      max_tokens: 1,
    })
  }
  const openai = new OpenAI({
    baseURL: `${url}/v1`,
    apiKey: 'any',
    defaultHeaders: { cookie: person.cookie() },
    maxRetries: 2,
  })
  const sampling = startSampling(backend)
  cleanup.defer(() => sampling.stop())
  return { url, members, database, simulator, backend, sampling, person, openai, model }
}

/** Gives a folder its own small disk, which only root can. */
function mountDisk(folder: string, cleanup: AsyncDisposableStack): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256m,mode=755', 'tmpfs', folder])
  cleanup.defer(() => void execFileSync('umount', ['--lazy', folder]))
}

interface Outcomes {
  sent: number
  failed: string[]
  /** Retries included */
  slowestMs: number
}

/** What happened to the requests of a load. */
export interface Tally {
  inference: Outcomes
  management: Outcomes
  /** Of complete responses */
  tokens: { input: number; output: number }
  /** The last acknowledged change of the profile, and the last that was sent */
  profile: { acknowledged: number; sent: number }
  /** Deployments whose creation or deletion was acknowledged */
  deployments: Map<string, 'created' | 'deleted'>
}

/** Chats, streams, changes and creations until `stop`. Each request has two retries, as OpenAI's client. */
export function startLoad({ openai, person, model }: World) {
  const tally: Tally = {
    inference: { sent: 0, failed: [], slowestMs: 0 },
    management: { sent: 0, failed: [], slowestMs: 0 },
    tokens: { input: 0, output: 0 },
    profile: { acknowledged: 0, sent: 0 },
    deployments: new Map(),
  }
  const over = new AbortController()
  const ask = { model, messages: [{ role: 'user' as const, content: 'Go on.' }], max_tokens: 16 }
  const count = (usage: { prompt_tokens: number; completion_tokens: number } | null | undefined) => {
    if (!usage) throw new Error('no usage')
    tally.tokens.input += usage.prompt_tokens
    tally.tokens.output += usage.completion_tokens
  }
  const chat = async () => count((await openai.chat.completions.create(ask)).usage)
  const stream = async () => {
    let last
    const events = await openai.chat.completions.create({
      ...ask,
      stream: true,
      stream_options: { include_usage: true },
    })
    for await (const { usage } of events) last = usage ?? last
    count(last)
  }
  const changeProfile = async () => {
    const number = (tally.profile.sent += 1)
    await manage(() => person.patch('/v1/user/profile', { first_name: `change ${number}` }))
    tally.profile.acknowledged = number
  }
  const createAndDelete = async () => {
    const { id } = await manage(() => person.post('/api/v1/model-deployments', { model_name: 'berth-tiny' }))
    tally.deployments.set(id, 'created')
    await manage(() => person.delete(`/api/v1/model-deployments/${id}`))
    tally.deployments.set(id, 'deleted')
  }
  const run = async (kind: 'inference' | 'management', call: () => Promise<void>, pause: number) => {
    while (!over.signal.aborted) {
      tally[kind].sent += 1
      const sentAt = performance.now()
      await call().catch((error: unknown) => tally[kind].failed.push(String(error)))
      tally[kind].slowestMs = Math.max(tally[kind].slowestMs, performance.now() - sentAt)
      await delay(pause)
    }
  }
  const running = Promise.all([
    ...[chat, chat, stream, stream].map((call) => run('inference', call, 20)),
    run('management', changeProfile, 50),
    run('management', createAndDelete, 500),
  ])
  return {
    tally,
    async stop() {
      over.abort()
      await running
    },
  }
}

async function manage(send: () => Promise<Answer>): Promise<any> {
  for (let attempt = 0; ; attempt++) {
    const answer = await send().catch((error: Error) => error)
    if (!(answer instanceof Error) && answer.status < 300) return answer.body
    const failure = answer instanceof Error ? answer.message : `${answer.status} ${answer.body.code}`
    const isFinal = !(answer instanceof Error) && answer.status < 500
    if (attempt === 2 || isFinal) throw new Error(failure)
    await delay(500 * 2 ** attempt)
  }
}

/** Waits until everything works again: each API, a change, and a chat. */
export async function waitUntilHealthy({ members, person, openai, model }: World): Promise<void> {
  const urls = await Promise.all(
    members.filter(({ role }) => role === 'api').map(({ server }) => server.listening),
  )
  const works = async () => {
    const ready = await Promise.all(
      urls.map((url) => fetch(`${url}/readyz?database=required`).then(({ status }) => status === 200)),
    )
    if (!ready.every(Boolean)) return false
    const change = await person.patch('/v1/user/profile', { last_name: 'Healthy' })
    const deployment = await person.get(`/api/v1/model-deployments/${model}`)
    if (change.status !== 200 || deployment.body.status !== 'running') return false
    await openai.chat.completions.create(
      { model, messages: [{ role: 'user', content: 'Hi' }], max_tokens: 1 },
      { maxRetries: 0 },
    )
    return true
  }
  const deadline = performance.now() + 240_000
  while (!(await works().catch(() => false))) {
    if (performance.now() > deadline) throw new Error('nothing works four minutes after the fault')
    await delay(100)
  }
}

/** Deletes what a creation left whose response or deletion was lost. */
export async function deleteOthers({ person, model }: World): Promise<void> {
  const { body } = await person.get('/api/v1/model-deployments?limit=500')
  for (const { id, status } of body.items) {
    if (id === model || /^(terminat|failed)/.test(status)) continue
    await person.delete(`/api/v1/model-deployments/${id}`)
  }
}

/** Ids of engines on the backend without a live instance, once nothing changes anymore. */
export async function findLeftOvers({ backend, database }: World): Promise<string[]> {
  let leftOvers: string[] = []
  for (const deadline = performance.now() + 120_000; performance.now() < deadline; await delay(200)) {
    const live = await query<{ id: string }>(
      database.primaryUrl(),
      `SELECT id FROM instances WHERE status <> 'released'`,
    )
    const known = new Set(live.map(({ id }) => id))
    leftOvers = (await backend.listRemains()).filter((id) => !known.has(id))
    if (leftOvers.length === 0) break
  }
  return leftOvers
}
