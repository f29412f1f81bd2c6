import { randomInt } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { notify } from '../../src/database/notifications.ts'
import { createRandom, pickFrom } from '../chaos/load.ts'
import { registerClient } from '../support/client.ts'
import type { Answer, Client } from '../support/client.ts'
import { waitForStatus } from '../support/deployments.ts'
import { ask, startOrderedAliases } from '../support/ordered-aliases.ts'
import type { Behavior, OrderedAliases, Place } from '../support/ordered-aliases.ts'
import { joinClient } from '../support/organizations.ts'

/** `npm run test:fallback` plays 300 histories. */
const histories = Number(process.env['FALLBACK_HISTORIES'] ?? 5)
const firstSeed = Number(process.env['FALLBACK_SEED'] ?? randomInt(2 ** 31))
const path = '/api/v1/model-deployments'

/** A deployment, and what the callers of its alias should meet. */
interface Member extends Place {
  /** null for one that sets no order, and so comes last */
  order: number | null
  state: State
}

/** The states of deployments that serve, in which each history puts some of them. */
const changingStates = ['answers', 'is full', 'refuses', 'breaks', 'is unshared'] as const
/** The states that a deployment keeps: `sleeps` never wakes. */
type State = (typeof changingStates)[number] | 'is away' | 'sleeps' | 'failed' | 'is unfit'

/** The code of a refusal because of each state */
const codes: Record<Exclude<State, 'answers' | 'is unshared'>, string> = {
  'is full': 'rate_limited',
  refuses: 'rate_limited',
  breaks: 'upstream_unavailable',
  'is away': 'upstream_unavailable',
  sleeps: 'deployment_waking',
  failed: 'deployment_failed',
  'is unfit': 'invalid_request_error',
}

let aliases: OrderedAliases
let owner: Client
let colleague: Client
let changing: Place[]
let lasting: { place: Place; state: State }[]
beforeAll(async () => {
  aliases = await startOrderedAliases()
  owner = await registerClient(aliases.server.url)
  colleague = await joinClient(aliases.server, owner, 'viewer')
  changing = []
  // One after the other, so that each has its own engine.
  for (let count = 0; count < 5; count += 1) changing.push(await aliases.open(owner))
  const [away, asleep, unfit] = [
    await aliases.open(owner),
    await aliases.open(owner),
    await aliases.open(owner, 'berth-tiny-embedding'),
  ]
  await away.engine.close()
  away.engine.close = async () => {}
  await owner.post(`${path}/${asleep.id}/sleep`)
  await waitForStatus(owner, asleep.id, 'sleeping')
  asleep.behavior = 'starts'
  const failed = await aliases.openFailed(owner, 'failed', 1)
  await setAlias(failed.id, null, null)
  lasting = [
    { place: away, state: 'is away' },
    { place: asleep, state: 'sleeps' },
    { place: unfit, state: 'is unfit' },
    { place: failed, state: 'failed' },
  ]
}, 120_000)
afterAll(() => aliases.close())

/** Directly, because a failed deployment can't be changed. */
async function setAlias(id: string, alias: string | null, order: number | null): Promise<void> {
  await aliases.server.application.db
    .updateTable('deployments')
    .set({ alias, alias_order: order, shared_with: alias === null ? null : '"organization"' })
    .where('id', '=', id)
    .execute()
}

function shuffle<Each>(random: () => number, list: readonly Each[]): Each[] {
  return list
    .map((each) => ({ each, at: random() }))
    .toSorted((one, other) => one.at - other.at)
    .map(({ each }) => each)
}

function drawMembers(random: () => number): Member[] {
  const places = [
    ...changing.map((place) => ({ place, state: 'answers' as State })),
    ...lasting.filter(() => random() < 0.5),
  ]
  const drawn = shuffle(random, places).slice(0, 1 + Math.floor(random() * 5))
  const hasLast = drawn.length > 1 && random() < 0.3
  let order = 0
  return drawn.map(({ place, state }, index) => {
    order += 1 + Math.floor(random() * 3)
    return Object.assign(place, { state, order: hasLast && index === drawn.length - 1 ? null : order })
  })
}

interface Chat {
  asker: Client
  forbids: boolean
  streams: boolean
}

/** What should become of a chat: the deployment that answers, or the codes of those that could not. */
interface Outcome {
  answeredBy: Member | null
  tried: { member: Member; code: string }[]
  /** Nobody else gets the request, which may have broken engines. */
  isFatal: boolean
}

/** Goes through the order. `got` tells which engines had the request: open breakers keep it from some. */
function expectOutcome(members: readonly Member[], chat: Chat, got: (member: Member) => number): Outcome {
  const tried: Outcome['tried'] = []
  let broken = 0
  for (const member of members) {
    const { state } = member
    if (state === 'is unshared') {
      if (chat.asker === owner) return { answeredBy: member, tried, isFatal: false }
      continue
    }
    if (state === 'answers') return { answeredBy: member, tried, isFatal: false }
    tried.push({ member, code: codes[state] })
    // A stale connection is replaced, so that an engine may get a request twice.
    if (state === 'breaks') broken += Math.min(got(member), 1)
    const isFirst = tried.length === 1
    if (chat.forbids || (isFirst && state === 'is unfit')) break
    if (broken > 1) return { answeredBy: null, tried, isFatal: true }
  }
  return { answeredBy: null, tried, isFatal: false }
}

/** `isOrdered`: the asker may call a deployment with an order. */
function expectAnswer(
  answer: Answer,
  { answeredBy, tried, isFatal }: Outcome,
  chat: Chat,
  isOrdered: boolean,
): void {
  if (answeredBy !== null) {
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    expect(answer.headers.get('x-berth-deployment')).toBe(isOrdered ? answeredBy.id : null)
    return expect(JSON.stringify(answer.body)).toContain(answeredBy.id)
  }
  const [first, ...others] = tried
  if (first === undefined) return expect(answer.status).toBe(404)
  if (isFatal) return expect(answer.body.error.code).toBe('upstream_unavailable')
  // An engine's own refusal passes unchanged if there is no other deployment that may serve.
  const isAlone = others.every(({ member }) => member.state === 'failed')
  if (first.member.state === 'refuses' && (chat.forbids || isAlone)) {
    return expect(answer.status).toBe(429)
  }
  expect(answer.body.error.code).toBe(first.code)
  const fallbacks = others.map(({ member, code }) => ({
    deployment_id: member.id,
    alias_order: member.order,
    code,
  }))
  expect(answer.body.error.fallbacks ?? []).toEqual(fallbacks)
}

/** Waits until the server has all notifications so far, which arrive in the order of their transactions. */
async function hearChanges(): Promise<void> {
  const { db, notifications } = aliases.server.application
  const { promise, resolve } = Promise.withResolvers<void>()
  const stop = notifications.subscribe('deployment_changed', (payload) => payload === '0' && resolve())
  await notify(db, 'deployment_changed', '0')
  await promise
  stop()
}

/** Closes the circuit breakers of a deployment, which count as its absence. */
async function closeBreakers({ id }: Place): Promise<void> {
  const { instances } = (await owner.get(`${path}/${id}`)).body
  for (const each of instances) aliases.server.application.inference.breakers.onSuccess(each.id)
}

/** Puts the deployments into random states. Returns what frees them. */
async function change(random: () => number, members: readonly Member[]): Promise<() => Promise<void>> {
  const frees: (() => Promise<void>)[] = []
  for (const member of members.filter((each) => changing.includes(each))) {
    member.state = random() < 0.3 ? 'answers' : pickFrom(random, changingStates)!
    const isBehavior = member.state === 'refuses' || member.state === 'breaks'
    if (member.behavior === 'breaks') await closeBreakers(member)
    member.behavior = 'answers'
    const shared_with = member.state === 'is unshared' ? null : 'organization'
    const { id } = member
    expect((await owner.patch(`${path}/${id}`, { shared_with })).status).toBe(200)
    if (member.state === 'is full') frees.push(await aliases.fill(owner, member))
    if (isBehavior) member.behavior = member.state as Behavior
  }
  await hearChanges()
  return async () => {
    for (const free of frees) await free()
  }
}

async function play(seed: number): Promise<void> {
  const random = createRandom(seed)
  const alias = `history-${seed}`
  const members = drawMembers(random)
  for (const { id, order } of members) await setAlias(id, alias, order)
  for (let round = 0; round < 3; round += 1) {
    const free = await change(random, members)
    const chats = Array.from({ length: 3 }, () => ({
      asker: random() < 0.5 ? owner : colleague,
      forbids: random() < 0.2,
      streams: random() < 0.3,
    }))
    for (const chat of chats) await converse(alias, members, chat)
    await free()
  }
  for (const { id } of members) await setAlias(id, null, null)
}

async function converse(alias: string, members: readonly Member[], chat: Chat): Promise<void> {
  const before = new Map(members.map((member) => [member, member.engine.requests.length]))
  const got = (member: Member) => member.engine.requests.length - before.get(member)!
  const headers = { 'x-scale-up-timeout': '0', ...(chat.forbids && { 'x-berth-fallback': 'no' }) }
  const answer = await ask(chat.asker, alias, { headers, stream: chat.streams })
  const outcome = expectOutcome(members, chat, got)
  const seen = members.map(({ state, order }) => `${order} ${state}`).join(', ')
  try {
    const visible = members.filter(({ state }) => chat.asker === owner || state !== 'is unshared')
    const isOrdered = visible.some(({ order }) => order !== null)
    expectAnswer(answer, outcome, chat, isOrdered)
    for (const member of members) {
      const most =
        member === outcome.answeredBy || member.state === 'refuses' ? 1 : member.state === 'breaks' ? 2 : 0
      expect(got(member), `requests at ${member.order} ${member.state}`).toBeLessThanOrEqual(most)
    }
    if (outcome.answeredBy !== null) expect(got(outcome.answeredBy)).toBe(1)
  } catch (error) {
    const who = chat.asker === owner ? 'owner' : 'colleague'
    const text = `${who}${chat.forbids ? ', forbids' : ''}: ${seen}: ${answer.status} ${JSON.stringify(answer.body)}`
    throw new Error(text, { cause: error })
  }
}

test(
  `random histories of an alias with an order: each request is answered once by the right deployment, or refused with a reason (from seed ${firstSeed})`,
  { timeout: 60_000 + histories * 20_000 },
  async () => {
    for (let seed = firstSeed; seed < firstSeed + histories; seed += 1) {
      await play(seed).catch((error: unknown) => {
        throw new Error(`FALLBACK_SEED=${seed} FALLBACK_HISTORIES=1 repeats this history`, { cause: error })
      })
    }
  },
)
