import fc from 'fast-check'
import type { Price } from '../../src/base/price.ts'
import { createLedgerModel, isOnEndpoint } from './ledger-model.ts'
import type { LedgerModel } from './ledger-model.ts'

/**
 * An event; `pick` selects the deployment, `amount` the size. Events that are impossible in the current state
 * are skipped.
 */
export interface Event {
  kind:
    | 'request'
    | 'work'
    | 'delete'
    | 'fail'
    | 'race'
    | 'infer'
    | 'price'
    | 'settle'
    | 'restart'
    | 'wait'
    | 'step'
  pick: number
  amount: number
}

const second = 1_000
const hour = 3_600 * second
const day = 24 * hour

const pick = fc.nat(7)
const anEvent = (kinds: Event['kind'][], amount: fc.Arbitrary<number>) =>
  fc.record({ kind: fc.constantFrom(...kinds), pick, amount })

/** Waits of seconds, hours and days, long enough to cross the end of a month. */
const pause = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 90 * second }) },
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 3 * hour }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 12 * day }) },
)

/** The difference between two synchronized workers' clocks. */
const skew = fc.integer({ min: -60 * second, max: 60 * second })

const usual = [
  { weight: 2, arbitrary: anEvent(['request'], fc.constant(0)) },
  { weight: 8, arbitrary: anEvent(['work', 'work', 'restart'], fc.nat(5_000)) },
  { weight: 3, arbitrary: anEvent(['race', 'infer'], fc.nat(5_000)) },
  { weight: 1, arbitrary: anEvent(['delete', 'fail'], fc.constant(0)) },
  { weight: 2, arbitrary: anEvent(['price'], fc.nat(5_000)) },
  { weight: 4, arbitrary: anEvent(['settle'], skew) },
  { weight: 6, arbitrary: anEvent(['wait'], pause) },
]
const length = { minLength: 10, maxLength: 80, size: 'max' } as const

/** Histories in which all clocks are accurate to a minute. */
export const honestEvents = fc.array(fc.oneof(...usual), length)

const jump = { weight: 1, arbitrary: anEvent(['step'], fc.integer({ min: -2 * day, max: 2 * day })) }
/** Histories in which a clock jumps by up to two days in either direction. */
export const steppingEvents = fc.array(fc.oneof(...usual, jump), length)

/** The true state of a deployment, tracked independently of the ledger. Times are clock readings. */
export interface Deployment {
  id: number
  organization: number
  requestedAt: number
  stage: 'requested' | 'provisioning' | 'deploying' | 'running' | 'ending' | 'ended'
  /** When the provider started the instance, even if no write followed */
  given: number | null
  released: boolean
  /** When the worker saw that the instance was released */
  confirmedAt: number | null
  ran: boolean
  /** The expected start and end of the span */
  from: number | null
  to: number | null
}

export interface Story {
  model: LedgerModel
  deployments: Deployment[]
  tokens: { organization: number; input: number; output: number }[]
}

export const organizationCount = 2
const begin = Date.UTC(2026, 0, 31, 22)

/**
 * Plays events and calls `settled` after each settlement. Each database write and each provider call is a
 * separate step, so a crash or a delay can happen between any two. At the end all instances are released and
 * all hours sealed.
 */
export function play(
  events: readonly Event[],
  prices: readonly Price[],
  settled: (model: LedgerModel, organization: number) => void = () => {},
): Story {
  const model = createLedgerModel(prices)
  const deployments: Deployment[] = []
  const tokens: Story['tokens'] = []
  let clock = begin
  const now = () => new Date(clock)

  /** Performs the worker's next step for a deployment, if any. */
  function work(deployment: Deployment, amount: number): void {
    const { id } = deployment
    switch (deployment.stage) {
      case 'requested':
        deployment.stage = 'provisioning'
        return model.apply({ kind: 'provisioning', deployment: id, at: now() })
      case 'provisioning':
        if (deployment.given === null) {
          deployment.given = clock
          return
        }
        deployment.stage = 'deploying'
        deployment.from = startOf(deployment)
        return model.apply({ kind: 'open', deployment: id, reported: new Date(deployment.given), now: now() })
      case 'deploying':
        if (amount % 3 === 0) return
        deployment.stage = 'running'
        deployment.ran = true
        return model.apply({ kind: 'confirm', deployment: id, now: now() })
      case 'ending':
        if (!deployment.released) {
          deployment.released = true
          return
        }
        deployment.stage = 'ended'
        deployment.confirmedAt = clock
        if (deployment.from !== null) deployment.to = Math.max(clock, deployment.from, sealed(deployment))
        return model.apply({ kind: 'close', deployment: id, now: now() })
      case 'running':
      case 'ended':
    }
  }

  const sealed = ({ organization }: Deployment) =>
    model.organizations.get(organization)!.sealedThrough.getTime()
  const startOf = (deployment: Deployment) => {
    const clamped = Math.min(clock, Math.max(deployment.given!, deployment.requestedAt))
    return Math.max(clamped, sealed(deployment))
  }

  function end(deployment: Deployment): void {
    if (deployment.stage === 'ended' || deployment.stage === 'ending') return
    deployment.stage = 'ending'
    model.apply({ kind: 'end', deployment: deployment.id, at: now() })
  }

  function settle(organization: number, skew: number): void {
    model.apply({ kind: 'settle', organization, now: new Date(clock + skew) })
    settled(model, organization)
  }

  for (const { kind, pick, amount } of events) {
    const deployment = deployments[pick % Math.max(1, deployments.length)]
    const organization = pick % organizationCount
    if (kind === 'wait' || kind === 'step') clock += amount
    else if (kind === 'settle') settle(organization, amount)
    else if (kind === 'request' && deployments.length < 8) {
      const id = deployments.length
      deployments.push({
        id,
        organization,
        requestedAt: clock,
        stage: 'requested',
        given: null,
        released: false,
        confirmedAt: null,
        ran: false,
        from: null,
        to: null,
      })
      model.apply({ kind: 'request', deployment: id, organization, at: now() })
    } else if (deployment === undefined) continue
    else if (kind === 'work') work(deployment, amount)
    else if (kind === 'delete' || kind === 'fail') end(deployment)
    else if (kind === 'race') {
      // A worker that lost its lease repeats writes that another worker has made.
      const { id, given, stage } = deployment
      if (given !== null && (stage === 'deploying' || stage === 'running')) {
        model.apply({ kind: 'open', deployment: id, reported: new Date(given), now: now() })
      }
      if (stage === 'ended') model.apply({ kind: 'close', deployment: id, now: now() })
      if (stage === 'running') model.apply({ kind: 'confirm', deployment: id, now: now() })
      settle(organization, amount)
    } else if (kind === 'infer' && deployment.stage === 'running') {
      const [input, output] = [amount, pick * 3]
      tokens.push({ organization: deployment.organization, input, output })
      model.apply({ kind: 'tokens', deployment: deployment.id, input, output, now: now() })
    } else if (kind === 'price' && isOnEndpoint(deployment.id)) {
      const prices = amount % 4 === 0 ? null : { input: `0.${amount}`, output: `${amount}` }
      model.apply({ kind: 'price', deployment: deployment.id, prices, now: now() })
    } else if (kind === 'restart') {
      // After a restart, the worker resumes every deployment.
      for (const each of deployments) work(each, amount)
    }
  }
  for (const deployment of deployments) {
    end(deployment)
    while (deployment.stage !== 'ended') work(deployment, 1)
  }
  const ends = [...model.organizations.values()].flatMap(({ sealedThrough, spans, tokens: rows }) => [
    sealedThrough.getTime(),
    ...spans.map(({ endedAt }) => endedAt!.getTime()),
    ...[...rows.values()].map((row) => row.hour.getTime() + hour),
  ])
  clock = Math.max(clock, ...ends) + 3 * hour
  for (const organization of model.organizations.keys()) settle(organization, 0)
  return { model, deployments, tokens }
}
