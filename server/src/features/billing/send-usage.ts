import { isDeepStrictEqual } from 'node:util'
import type { Application } from '../../application.ts'
import { addHours, floorHour } from '../metering/hours.ts'
import type { UsageEventPlan } from '../metering/ledger.ts'
import { readUsageEvents } from '../metering/usage-events.ts'
import { isLive } from './account-state.ts'
import { followAccount } from './follow.ts'
import { listPostpaidAccounts } from './store.ts'
import type { BillingAccount } from './store.ts'
import {
  claimSend,
  findLastHours,
  insertSend,
  listOpenSends,
  markSent,
  markUnknown,
  readTold,
  setWritten,
} from './usage-send-store.ts'
import type { UsageSend } from './usage-send-store.ts'
import {
  isCounted,
  planAttempt,
  settleUnknown,
  toCountedAt,
  toForgottenAttempt,
  toIdentifier,
} from './usage-sends.ts'

type Tools = Pick<Application, 'db' | 'config' | 'clock' | 'log' | 'payments'>

/** After so many failures in a row the rest of a price waits for the next run. */
const mostFailures = 3

/** Tells the processor of the sealed usage of every organization that pays by subscription; may be run at any time. */
export async function sendUsage(application: Tools): Promise<void> {
  for (const account of await listPostpaidAccounts(application.db)) {
    try {
      await sendAccountUsage(application, account)
    } catch (error) {
      application.log.error(
        { err: error, organization: account.organization_id },
        'usage could not be sent to the payment processor',
      )
    }
  }
}

async function sendAccountUsage(application: Tools, listed: BillingAccount): Promise<void> {
  const { db, clock } = application
  const isStale = listed.current_period_end !== null && listed.current_period_end <= clock()
  const account = isStale ? await followAccount(application, listed.id) : listed
  const {
    organization_id: organizationId,
    processor_customer_id: customerId,
    postpaid_since: since,
  } = account
  // Without a subscription nothing would be charged: usage waits for the next one.
  if (!isLive(account.subscription_status) || customerId === null || since === null) return
  const open = await listOpenSends(db, organizationId)
  const teller = createTeller(application)
  const position = {
    from: account.usage_written_through ?? since,
    remainders: account.usage_remainders,
  }
  for await (const { from, events, next } of readUsageEvents(application, organizationId, position)) {
    const lastHours = await findLastHours(db, organizationId, from)
    for (const event of events) {
      if (event.hour > (lastHours.get(event.priceKey) ?? 0)) {
        await sendNew(application, teller, account, customerId, event)
      }
    }
    await setWritten(db, organizationId, next)
  }
  for (const send of open) {
    const now = clock()
    if (teller.gaveUp(send.price_key) || planAttempt(send, now) !== 'send') continue
    const at = toCountedAt(send.hour, account.current_period_start, now)
    const claimed = await claimSend(db, send, { at, now, isFirst: false })
    if (claimed !== undefined) await teller.tell(claimed)
  }
  const groups = Map.groupBy(
    await listOpenSends(db, organizationId),
    (send) => `${send.customer_id} ${send.price_key}`,
  )
  for (const group of groups.values()) {
    try {
      await settleOld(application, teller, account, since, group)
    } catch (error) {
      const { price_key: priceKey } = group[0]!
      application.log.error(
        { err: error, organization: organizationId, priceKey },
        'what the processor has counted of old usage could not be compared',
      )
    }
  }
}

/** Writes an hour's usage down and tells of it, unless there is a reason to wait. */
async function sendNew(
  { db, clock }: Tools,
  teller: Teller,
  account: BillingAccount,
  customerId: string,
  { priceKey, hour, quantity }: UsageEventPlan,
): Promise<void> {
  const now = clock()
  const row = {
    organization_id: account.organization_id,
    customer_id: customerId,
    price_key: priceKey,
    hour,
    identifier: toIdentifier(customerId, priceKey, hour),
    quantity,
    at: toCountedAt(hour, account.current_period_start, now),
  }
  const forgottenAt = toForgottenAttempt(hour, now)
  if (forgottenAt !== null) {
    await insertSend(db, row, now, {
      since: forgottenAt,
      reason: 'a restored database may have forgotten it',
    })
  } else if (teller.gaveUp(priceKey)) {
    await insertSend(db, row, now, { since: now, reason: 'earlier usage of the price could not be sent' })
  } else {
    const send = await insertSend(db, row, now, null)
    if (send !== undefined) await teller.tell(send)
  }
}

interface Teller {
  /** Tells of one hour and notes what came of it. */
  tell(send: UsageSend): Promise<void>
  /** True once too much of a price has failed. */
  gaveUp(priceKey: string): boolean
}

function createTeller({ db, clock, payments, log }: Tools): Teller {
  const failures = new Map<string, number>()
  return {
    gaveUp: (priceKey) => (failures.get(priceKey) ?? 0) >= mostFailures,
    async tell(send) {
      const { organization_id: organization, price_key: priceKey, hour, identifier } = send
      try {
        await payments.sendUsage({
          priceKey,
          customerId: send.customer_id,
          identifier,
          at: send.at,
          quantity: send.quantity,
        })
      } catch (error) {
        log.warn({ err: error, organization, priceKey, hour }, 'whether usage arrived is not known')
        await markUnknown(db, identifier, error instanceof Error ? error.message : String(error))
        failures.set(priceKey, (failures.get(priceKey) ?? 0) + 1)
        return
      }
      failures.delete(priceKey)
      await markSent(db, [identifier], clock())
    },
  }
}

/**
 * Settles what nobody knows about after a day, of one price and customer, by what the processor has counted: what did not arrive
 * begins anew, and what can't be told apart stays as it is, for a person to look at.
 */
async function settleOld(
  { db, clock, payments, log }: Tools,
  teller: Teller,
  account: BillingAccount,
  since: Date,
  open: readonly UsageSend[],
): Promise<void> {
  const now = clock()
  const { price_key: priceKey, customer_id: customerId } = open[0]!
  // As long as one may still be told again, it is: that makes what is left clearer.
  if (open.some((send) => planAttempt(send, now) !== 'compare')) return
  const told = await readTold(db, open[0]!)
  if (!isCounted(told.lastToldAt, now)) return
  const nextHour = addHours(floorHour(now), 1)
  const counted = await payments.countUsage(priceKey, customerId, since, nextHour)
  // What another process tells of meanwhile may be in either number.
  if (!isDeepStrictEqual(await readTold(db, open[0]!), told)) return
  const quantities = open.map(({ quantity }) => quantity)
  const verdict = settleUnknown(counted, told.sent, quantities)
  log.warn({ organization: account.organization_id, priceKey, counted, verdict }, 'old usage was settled')
  if (verdict === 'arrived') {
    const identifiers = open.map(({ identifier }) => identifier)
    await markSent(db, identifiers, now)
  }
  if (verdict !== 'lost') return
  for (const send of open) {
    if (teller.gaveUp(priceKey)) return
    const at = toCountedAt(send.hour, account.current_period_start, now)
    const claimed = await claimSend(db, send, { at, now, isFirst: true })
    if (claimed !== undefined) await teller.tell(claimed)
  }
}
