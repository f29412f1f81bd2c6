import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ProcessorSubscription, ProcessorSubscriptionStatus } from '../../../ports/payment-processor.ts'
import {
  accountStatuses,
  accountTransitions,
  currentPeriod,
  findBlock,
  deriveAccountState,
  isReflected,
  isLive,
  subscriptionStatuses,
} from './account-state.ts'
import type { AccountStatus, SyncedState } from './account-state.ts'

const terms = { postpaidMaxActive: 20 }

const trial: SyncedState = {
  billing_mode: 'trial',
  status: 'active',
  processor_subscription_id: null,
  subscription_status: 'none',
  collection_method: null,
  current_period_start: null,
  current_period_end: null,
  postpaid_since: null,
  max_active_resources: 2,
}

function subscription(changes: Partial<ProcessorSubscription> = {}): ProcessorSubscription {
  return {
    id: 'sub_1',
    status: 'active',
    collectionMethod: 'charge_automatically',
    currentPeriodStart: new Date('2026-03-10T10:20:30Z'),
    currentPeriodEnd: new Date('2026-04-10T10:20:30Z'),
    defaultPaymentMethodId: 'pm_1',
    prices: [],
    ...changes,
  }
}

const statuses = subscriptionStatuses.filter((status) => status !== 'none')

describe('deriveAccountState', () => {
  test('the first live subscription makes a trial account postpaid, from its start', () => {
    expect(deriveAccountState(trial, subscription(), terms)).toEqual({
      billing_mode: 'postpaid',
      status: 'active',
      processor_subscription_id: 'sub_1',
      subscription_status: 'active',
      collection_method: 'charge_automatically',
      current_period_start: new Date('2026-03-10T10:20:30Z'),
      current_period_end: new Date('2026-04-10T10:20:30Z'),
      postpaid_since: new Date('2026-03-10T10:20:30Z'),
      max_active_resources: 20,
    })
  })

  test('a later subscription keeps the first hour and the limit', () => {
    const first = { ...deriveAccountState(trial, subscription(), terms), max_active_resources: 50 }
    const next = subscription({ id: 'sub_2', currentPeriodStart: new Date('2026-09-01T00:00:00Z') })
    expect(deriveAccountState(first, next, terms)).toMatchObject({
      processor_subscription_id: 'sub_2',
      postpaid_since: first.postpaid_since,
      max_active_resources: 50,
    })
  })

  test('without a subscription at the processor a trial account does not change', () => {
    expect(deriveAccountState(trial, null, terms)).toEqual(trial)
  })

  test('a subscription that no longer exists at the processor counts as canceled', () => {
    const derived = deriveAccountState(deriveAccountState(trial, subscription(), terms), null, terms)
    expect(derived).toMatchObject({ billing_mode: 'postpaid', subscription_status: 'canceled' })
  })

  const moved: Record<ProcessorSubscriptionStatus, [AccountStatus, block: string | null]> = {
    trialing: ['active', null],
    active: ['active', null],
    past_due: ['past_due', 'payment_past_due'],
    unpaid: ['past_due', 'payment_past_due'],
    incomplete: ['past_due', 'payment_past_due'],
    canceled: ['active', 'billing_not_activated'],
    incomplete_expired: ['active', 'billing_not_activated'],
    paused: ['active', 'billing_not_activated'],
  }
  test.each(statuses)('a subscription that is %s', (status) => {
    const postpaid = deriveAccountState(trial, subscription(), terms)
    const derived = deriveAccountState(postpaid, subscription({ status }), terms)
    expect([derived.status, findBlock(derived, { isOn: true, trial: true })]).toEqual(moved[status])
    expect(derived).toMatchObject({ billing_mode: 'postpaid', subscription_status: status })
  })

  test.each(['suspended', 'closed'] as const)(
    'an account that an operator has %s keeps that status with any subscription',
    (status) => {
      for (const each of statuses) {
        expect(deriveAccountState({ ...trial, status }, subscription({ status: each }), terms).status).toBe(
          status,
        )
      }
    },
  )

  test('every status change is an allowed transition', () => {
    for (const status of accountStatuses) {
      for (const each of statuses) {
        const { status: next } = deriveAccountState(
          { ...trial, status },
          subscription({ status: each }),
          terms,
        )
        if (next !== status) expect(accountTransitions[status]).toContain(next)
      }
    }
  })
})

describe('findBlock', () => {
  test('a trial account is blocked only when trials are disabled', () => {
    expect(findBlock(trial, { isOn: true, trial: true })).toBeNull()
    expect(findBlock(trial, { isOn: true, trial: false })).toBe('billing_not_activated')
  })

  test.each(['suspended', 'closed'] as const)('%s: account_suspended', (status) => {
    expect(findBlock({ ...trial, status }, { isOn: true, trial: true })).toBe('account_suspended')
  })
})

describe('currentPeriod', () => {
  const now = new Date('2026-02-28T23:59:59.999Z')

  test('the UTC calendar month without a subscription, or with an ended one', () => {
    const month = { start: new Date('2026-02-01T00:00:00Z'), end: new Date('2026-03-01T00:00:00Z') }
    expect(currentPeriod(trial, now)).toEqual(month)
    const ended = deriveAccountState(
      deriveAccountState(trial, subscription(), terms),
      subscription({ status: 'canceled' }),
      terms,
    )
    expect(currentPeriod(ended, now)).toEqual(month)
  })

  test('the period of a live subscription', () => {
    const { currentPeriodStart: start, currentPeriodEnd: end } = subscription()
    expect(currentPeriod(deriveAccountState(trial, subscription(), terms), now)).toEqual({ start, end })
  })
})

/** A random step: the subscription changes, an event is delivered (again), or a worker fetches or writes. */
type Step = { kind: 'change'; to: ProcessorSubscription } | { kind: 'deliver' | 'work'; pick: number }

const change = fc.record({
  kind: fc.constant('change' as const),
  to: fc.record({
    id: fc.constantFrom('sub_1', 'sub_2'),
    status: fc.constantFrom(...statuses),
    collectionMethod: fc.constantFrom('charge_automatically' as const, 'send_invoice' as const),
    currentPeriodStart: fc.date({
      min: new Date('2026-01-01'),
      max: new Date('2027-01-01'),
      noInvalidDate: true,
    }),
    currentPeriodEnd: fc.constant(new Date('2027-02-01')),
    defaultPaymentMethodId: fc.constantFrom(null, 'pm_1'),
    prices: fc.constant<ProcessorSubscription['prices']>([]),
  }),
})
const step = fc.record({ kind: fc.constantFrom('deliver' as const, 'work' as const), pick: fc.nat(1000) })

test('events in 5,000 random orders, with duplicates, end in the processor’s state', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(change, step, step), { maxLength: 30 }),
      fc.array(fc.nat(1000)),
      (steps: Step[], rest) => {
        const model = createSyncModel()
        for (const each of steps) {
          if (each.kind === 'change') model.change(each.to)
          else if (each.kind === 'deliver') model.deliver(each.pick)
          else model.work(each.pick)
        }
        model.finish(rest)
        const { account, current } = model.result()
        expect(account).toMatchObject({
          processor_subscription_id: current?.id ?? null,
          subscription_status: current?.status ?? 'none',
          collection_method: current?.collectionMethod ?? null,
          current_period_start: current?.currentPeriodStart ?? null,
        })
        if (current !== null && isLive(current.status)) expect(account.billing_mode).toBe('postpaid')
      },
    ),
    { numRuns: 5_000 },
  )
})

/** A model of the processor, the event inbox, and workers that hold the account's lease one at a time. */
function createSyncModel() {
  let time = 0
  const tick = () => new Date(++time)
  let current: ProcessorSubscription | null = null
  const sent: number[] = []
  const inbox = new Map<number, Date>()
  const jobs: number[] = []
  let account = trial
  let syncedAt: Date | null = null
  let leased: { subscription: ProcessorSubscription | null; at: Date } | null = null

  function deliver(pick: number): void {
    const event = sent[pick % sent.length]
    if (event === undefined || inbox.has(event)) return
    inbox.set(event, tick())
    jobs.push(event)
  }

  /** One step of a worker: it takes a job and fetches the subscription, or it writes the fetched one. */
  function work(pick: number): void {
    if (leased !== null) {
      account = deriveAccountState(account, leased.subscription, terms)
      syncedAt = leased.at
      leased = null
      return
    }
    const [event] = jobs.length === 0 ? [] : jobs.splice(pick % jobs.length, 1)
    if (event === undefined || isReflected(inbox.get(event)!, syncedAt)) return
    const at = tick()
    leased = { subscription: current, at }
  }

  return {
    deliver,
    work,
    change(to: ProcessorSubscription) {
      current = to
      sent.push(sent.length)
      tick()
    },
    /** Delivers all remaining events, some of them twice, and works until the queue is empty. */
    finish(picks: readonly number[]) {
      for (const pick of picks) deliver(pick)
      for (const event of sent) deliver(event)
      while (jobs.length > 0 || leased !== null) work(0)
    },
    result: () => ({ account, current }),
  }
}
