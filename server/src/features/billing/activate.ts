import type { Services } from '../../services.ts'
import { ApplicationError } from '../../errors.ts'
import type { Viewer } from '../../viewer.ts'
import { withLease } from './account-lease.ts'
import { isLive } from './account-state.ts'
import {
  findActivation,
  findPendingActivation,
  insertActivation,
  refuseActivation,
} from './activation-store.ts'
import type { Activation } from './activation-store.ts'
import { getCard, cardNotFound } from './customer.ts'
import { callProcessor, processorUnavailable, assertAccountOpen } from './errors.ts'
import { applySubscription } from './sync-account.ts'
import { ensureAccount } from './store.ts'
import type { AccountLease, BillingAccount } from './store.ts'

type Deps = Pick<Services, 'db' | 'config' | 'clock' | 'log' | 'payments' | 'jobs'>

/** When a job looks after an activation that was begun. */
const resumeSeconds = 60
/** Processors forget an idempotency key after a day: an older activation is given up, so that it can't subscribe twice. */
const staleMilliseconds = 23 * 3_600_000

type Outcome =
  | { outcome: 'activated'; account: BillingAccount }
  | { outcome: 'given_up'; refusal: ApplicationError }

/**
 * Subscribes an organization to all prices, charged to a card. The wish is written down before the processor is asked, so
 * whatever dies on the way, the same subscription comes of it; who is subscribed already gets that subscription.
 */
export async function activatePostpaid(
  application: Deps,
  viewer: Viewer,
  cardId: string,
): Promise<BillingAccount> {
  const { db, config, clock, log, payments } = application
  const { id } = await ensureAccount(db, config, viewer.organizationId, clock())
  return withLease(application, id, async (account, lease) => {
    assertAccountOpen(account)
    const pending = await findPendingActivation(db, id)
    if (pending !== undefined) {
      const earlier = await runActivation(application, lease, account, pending)
      if (earlier.outcome === 'activated') return earlier.account
    }
    const card = await getCard(application, account, cardId)
    const customerId = account.processor_customer_id!
    const existing = await callProcessor(log, () => payments.findSubscription(customerId))
    if (existing !== null && isLive(existing.status)) return applySubscription(application, lease, existing)
    const activation = await beginActivation(application, account, card.id, viewer.userId)
    const result = await runActivation(application, lease, account, activation)
    if (result.outcome === 'activated') return result.account
    throw result.refusal
  })
}

function beginActivation(
  { db, clock, jobs }: Deps,
  { id: accountId }: BillingAccount,
  cardId: string,
  userId: number,
): Promise<Activation> {
  return db.transaction().execute(async (transaction) => {
    const activation = await insertActivation(transaction, { accountId, cardId, userId, at: clock() })
    const task = { activationId: activation.id }
    await jobs.enqueue(transaction, 'resume-activation', task, { afterSeconds: resumeSeconds })
    return activation
  })
}

/** Carries on with an activation that was left half done. What the processor refused before, it refuses again. */
export async function resumeActivation(application: Deps, activationId: string): Promise<void> {
  const { db } = application
  const found = await findActivation(db, activationId)
  if (found?.status !== 'pending') return
  await withLease(application, found.billing_account_id, async (account, lease) => {
    const activation = await findActivation(db, activationId)
    if (activation?.status === 'pending') await runActivation(application, lease, account, activation)
  })
}

/** Each step may have been taken before: what is there is found, and the same key makes nothing twice. */
async function runActivation(
  application: Deps,
  lease: AccountLease,
  account: BillingAccount,
  activation: Activation,
): Promise<Outcome> {
  const { db, payments, clock, log } = application
  const customerId = account.processor_customer_id
  if (customerId === null) throw new Error(`The activation ${activation.id} has no customer`)

  async function giveUp(refusal: ApplicationError): Promise<Outcome> {
    await refuseActivation(db, activation.id, clock())
    return { outcome: 'given_up', refusal }
  }
  async function adoptExisting(id: string): Promise<Outcome | null> {
    const existing = await callProcessor(log, () => payments.findSubscription(id))
    if (existing === null || !isLive(existing.status)) return null
    return { outcome: 'activated', account: await applySubscription(application, lease, existing) }
  }

  const taken = await adoptExisting(customerId)
  if (taken !== null) return taken
  if (clock().getTime() - activation.created_at.getTime() > staleMilliseconds) return giveUp(cardNotFound())
  const cardId = activation.processor_payment_method_id
  const card = await callProcessor(log, () => payments.findCard(customerId, cardId))
  if (card === null) return giveUp(cardNotFound())
  const result = await callProcessor(log, async () => {
    await payments.setDefaultCard(customerId, null, cardId)
    return payments.createSubscription({
      customerId,
      organizationId: account.organization_id,
      cardId,
      idempotencyKey: activation.id,
    })
  })
  if (result.outcome === 'card_refused') return giveUp(refusalOf(result))
  // Under this key it would fail for a day: the next wish gets another one.
  if (result.outcome === 'failed') {
    return (await adoptExisting(customerId)) ?? giveUp(processorUnavailable(log, result.error))
  }
  return {
    outcome: 'activated',
    account: await applySubscription(application, lease, result.subscription),
  }
}

const consentCodes = ['authentication_required', 'subscription_payment_intent_requires_action']

function refusalOf({ code, message }: { code: string; message: string }): ApplicationError {
  const word = consentCodes.includes(code) ? 'authentication_required' : 'card_declined'
  return new ApplicationError('conflict', word, message)
}
