import { randomInt } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createRandom, pickFrom } from '../chaos/load.ts'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { createTestClock } from '../support/clock.ts'
import { createTestDatabase } from '../support/database.ts'
import { startGate } from '../support/database-gate.ts'
import type { DatabaseGate } from '../support/database-gate.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

/** `npm run test:idempotency` plays 1,000. */
const histories = Number(process.env['IDEMPOTENCY_HISTORIES'] ?? 30)
/** Killed processes take a while to start again on a busy machine. */
const patience = 60_000
const firstSeed = Number(process.env['IDEMPOTENCY_SEED'] ?? randomInt(2 ** 31))
/** So many people play at the same time. */
const together = 5

const clock = createTestClock()

/** A server, and the only way to its database. */
interface Member {
  server: TestServer
  gate: DatabaseGate
  isDead: boolean
}

interface World {
  members: Member[]
  close(): Promise<void>
}

interface Intent {
  path: string
  body: unknown
  /** The names by which the thing is counted */
  find: (client: Client) => Promise<number>
  /** Refusals that say that the thing is there already */
  known: string | null
}

async function openWorld(): Promise<World> {
  await using cleanup = new AsyncDisposableStack()
  const database = await createTestDatabase('migrated')
  cleanup.defer(() => database.drop())
  const members: Member[] = []
  for (const _ of ['one', 'other']) {
    const gate = await startGate(database.url)
    cleanup.defer(() => gate.close())
    const settings = { DATABASE_URL: gate.url, SECRET_KEY: 'k'.repeat(32), DATABASE_POOL_SIZE: '15' }
    const server = await startTestServer({ worker: false, clock: clock.now, settings })
    cleanup.defer(() => server.close())
    members.push({ server, gate, isDead: false })
  }
  const opened = cleanup.move()
  return {
    members,
    async close() {
      for (const member of members) await revive(member)
      await opened.disposeAsync()
    },
  }
}

/** To the database, this is kill -9: what the server has not committed is gone, and it does nothing more. */
async function kill(member: Member): Promise<void> {
  if (member.isDead) return
  member.isDead = true
  await member.gate.shut()
}

async function revive(member: Member): Promise<void> {
  if (!member.isDead) return
  await member.gate.open()
  member.isDead = false
}

function chooseIntent(random: () => number): Intent {
  const name = `thing-${Math.floor(random() * 2 ** 40)}`
  const count = async (client: Client, path: string, has: (item: any) => boolean) => {
    const { body } = await retry(() => client.get(path))
    return (body.items ?? body).filter(has).length
  }
  const intents: Intent[] = [
    {
      path: '/api/v1/model-deployments',
      body: { model_name: 'berth-tiny' },
      find: (client) => count(client, '/api/v1/model-deployments?limit=100', () => true),
      known: null,
    },
    {
      path: '/v1/organization/service-members',
      body: { name, role: 'member', allowed_networks: ['127.0.0.1/32'] },
      find: (client) => count(client, '/v1/organization/service-members', (item) => item.name === name),
      known: null,
    },
    {
      path: '/v1/organization/invitations',
      body: { email: `${name}@example.com` },
      find: (client) =>
        count(
          client,
          '/v1/organization/invitations',
          ({ invitee_email: email }) => email === `${name}@example.com`,
        ),
      known: 'invitation_pending',
    },
    {
      path: '/v1/billing/budgets',
      body: { scope: 'organization', monthly_limit: '1000', at_limit: 'notify' },
      find: (client) => count(client, '/v1/billing/budgets', () => true),
      known: null,
    },
  ]
  return pickFrom(random, intents)!
}

/** Repeats a request while its server has no database. */
async function retry<Answer extends { status: number }>(request: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    const answer = await request()
    if (answer.status < 500) return answer
    await delay(20)
  }
}

/**
 * A person wants one thing. Their client repeats the request, sometimes from two places at once, until it has
 * an answer. Returns what went wrong.
 */
async function play(world: World, seed: number): Promise<string[]> {
  const random = createRandom(seed)
  const person = await retryRegistration(world)
  const intent = chooseIntent(random)
  const key = `key-${seed}`
  const answers: { status: number; body: any }[] = []
  const outcomes: string[] = []
  const attempt = async () => {
    const begun = performance.now()
    const outcome = await send()
    outcomes.push(`${outcome} after ${Math.round(performance.now() - begun)} ms`)
  }
  const send = async (): Promise<string> => {
    const member = pickFrom(random, world.members)!
    const isLost = random() < 0.4
    const client = { ...person }
    const response = await fetch(member.server.url + intent.path, {
      method: 'POST',
      headers: { cookie: client.cookie(), 'content-type': 'application/json', 'idempotency-key': key },
      body: JSON.stringify(intent.body),
      signal: random() < 0.3 ? AbortSignal.timeout(1 + Math.floor(random() * 40)) : null,
    }).catch(() => null)
    const body: any = (await response?.json().catch(() => null)) ?? null
    if (response === null || body === null) return 'aborted'
    if (isLost) return `lost ${response.status}`
    // A later attempt may begin while the server of an earlier one still runs it.
    if (response.status === 409 && body.code === 'request_in_progress') clock.advance(16_000)
    else if (response.status < 500) answers.push({ status: response.status, body })
    return `${response.status} ${body.code ?? ''}`
  }
  const deadline = performance.now() + patience
  while (answers.length === 0) {
    if (performance.now() > deadline) {
      return [`seed ${seed}, ${intent.path}: no answer in ${patience / 1000} s:\n${outcomes.join('\n')}`]
    }
    const count = random() < 0.3 ? 3 : 1
    await Promise.all(Array.from({ length: count }, attempt))
    if (answers.length === 0) await delay(random() * 30)
  }
  // Whatever still runs somewhere is part of the history.
  for (let repeats = 0; repeats < 2; repeats++) await attempt()
  return judge(seed, intent, answers, await intent.find(person))
}

function judge(
  seed: number,
  { path, known }: Intent,
  answers: readonly { status: number; body: any }[],
  things: number,
): string[] {
  const about = `seed ${seed}, ${path}`
  const problems = things === 1 ? [] : [`${about}: created ${things} times`]
  for (const { status, body } of answers) {
    if (status >= 400 && body.code !== known) problems.push(`${about}: ${status} ${JSON.stringify(body)}`)
  }
  const distinct = new Set(answers.map(({ body }) => JSON.stringify(body)))
  if (distinct.size > 1)
    problems.push(`${about}: ${distinct.size} different answers: ${[...distinct].join('\n')}`)
  return problems
}

async function retryRegistration({ members }: World): Promise<Client> {
  for (;;) {
    const person = await registerClient(members[0]!.server.url).catch(() => null)
    if (person !== null) return person
    await delay(20)
  }
}

/** Kills servers until the signal aborts, always one at a time. */
async function disturb(world: World, random: () => number, signal: AbortSignal): Promise<number> {
  let kills = 0
  while (!signal.aborted) {
    await delay(random() * 150)
    const member = pickFrom(random, world.members)!
    await kill(member)
    kills += 1
    await delay(random() * 40)
    await revive(member)
  }
  return kills
}

test(
  `lost answers, retries, kills and races create each thing once (from seed ${firstSeed})`,
  { timeout: 120_000 + histories * 5_000 },
  async () => {
    const world = await openWorld()
    try {
      const ending = new AbortController()
      const disturbing = disturb(world, createRandom(firstSeed ^ 0x5eed), ending.signal)
      const problems: string[] = []
      for (let seed = firstSeed; seed < firstSeed + histories; seed += together) {
        const count = Math.min(together, firstSeed + histories - seed)
        const played = await Promise.all(
          Array.from({ length: count }, (_, index) => play(world, seed + index)),
        )
        problems.push(...played.flat())
      }
      ending.abort()
      expect(await disturbing).toBeGreaterThan(0)
      expect(problems, `IDEMPOTENCY_SEED=${firstSeed} repeats the choices of these histories`).toEqual([])
    } finally {
      await world.close()
    }
  },
)
