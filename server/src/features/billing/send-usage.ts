import { isDeepStrictEqual } from 'node:util'
import type { Application } from '../../application.ts'
import { listUsageEvents } from '../metering/usage-events.ts'
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

/** After so many failures in a row the rest of an account waits for the next run. */
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
  const lastHours = await findLastHours(db, organizationId)
  const events = (await listUsageEvents(application, organizationId, since)).filter(
    ({ priceKey, hour }) => hour > (lastHours.get(priceKey) ?? 0),
  )
  const attempt = createAttempts(application)

  for (const { priceKey, hour, quantity } of events) {
    const now = clock()
    const at = toCountedAt(hour, account.current_period_start, now)
    const identifier = toIdentifier(customerId, priceKey, hour)
    const row = { organization_id: organizationId, price_key: priceKey, hour, identifier, quantity, at }
    const toldAt = toForgottenAttempt(hour, now)
    const send = await insertSend(db, { ...row, customer_id: customerId }, now, toldAt)
    if (toldAt === null && send !== undefined && !(await attempt(send))) return
  }
  for (const send of open) {
    const now = clock()
    if (planAttempt(send, now) !== 'send') continue
    const at = toCountedAt(send.hour, account.current_period_start, now)
    const claimed = await claimSend(db, send, { at, now, isFirst: false })
    if (claimed !== undefined && !(await attempt(claimed))) return
  }
  await settleOld(application, account, since)
}

/** A function that tells of one hour, false once too much has failed. */
function createAttempts({ db, clock, payments, log }: Tools): (send: UsageSend) => Promise<boolean> {
  let failures = 0
  return async (send) => {
    try {
      await payments.sendUsage({
        priceKey: send.price_key,
        customerId: send.customer_id,
        identifier: send.identifier,
        at: send.at,
        quantity: send.quantity,
      })
    } catch (error) {
      log.warn(
        { err: error, organization: send.organization_id, priceKey: send.price_key, hour: send.hour },
        'whether usage arrived is not known',
      )
      await markUnknown(db, send.identifier, error instanceof Error ? error.message : String(error))
      failures += 1
      return failures < mostFailures
    }
    failures = 0
    await markSent(db, [send.identifier], clock())
    return true
  }
}

/**
 * Settles what nobody knows about after a day by what the processor has counted: what did not arrive begins anew, and what can't
 * be told apart stays as it is, for a person to look at.
 */
async function settleOld(application: Tools, account: BillingAccount, since: Date): Promise<void> {
  const { db, clock, payments, log } = application
  const now = clock()
  const groups = Map.groupBy(
    await listOpenSends(db, account.organization_id),
    (send) => `${send.customer_id} ${send.price_key}`,
  )
  for (const open of groups.values()) {
    const { price_key: priceKey, customer_id: customerId } = open[0]!
    // As long as one may still be told again, it is: that makes what is left clearer.
    if (open.some((send) => planAttempt(send, now) !== 'compare')) continue
    const told = await readTold(db, open[0]!)
    if (!isCounted(told.lastToldAt, now)) continue
    const counted = await payments.countUsage(
      priceKey,
      customerId,
      since,
      new Date(Math.ceil((now.getTime() + 1) / 3_600_000) * 3_600_000),
    )
    // What another process tells of meanwhile may be in either number.
    if (!isDeepStrictEqual(await readTold(db, open[0]!), told)) continue
    const verdict = settleUnknown(
      counted,
      told.sent,
      open.map(({ quantity }) => quantity),
    )
    log.warn({ organization: account.organization_id, priceKey, counted, verdict }, 'old usage was settled')
    if (verdict === 'arrived') {
      await markSent(
        db,
        open.map(({ identifier }) => identifier),
        now,
      )
    }
    if (verdict !== 'lost') continue
    const attempt = createAttempts(application)
    for (const send of open) {
      const at = toCountedAt(send.hour, account.current_period_start, now)
      const claimed = await claimSend(db, send, { at, now, isFirst: true })
      if (claimed !== undefined && !(await attempt(claimed))) break
    }
  }
}
