import type { Services } from '../../../services.ts'
import { ApplicationError } from '../../../base/errors.ts'
import { serverActor } from '../../../base/viewer.ts'
import type { Actor } from '../../../base/viewer.ts'
import { recordAction } from '../../audit/record-action.ts'
import { withLease } from '../account/account-lease.ts'
import { isLive } from '../account/account-state.ts'
import { findActivation, findPendingActivation, insertActivation } from './activation-store.ts'
import type { Activation } from './activation-store.ts'
import { getCard, cardNotFound } from './customer.ts'
import { callProcessor, processorUnavailable, assertAccountOpen } from '../account/errors.ts'
import { applySubscription } from './sync-account.ts'
import { ensureAccount } from '../account/store.ts'
import type { AccountLease, BillingAccount } from '../account/store.ts'

type Deps = Pick<Services, 'db' | 'config' | 'clock' | 'log' | 'payments' | 'jobs'>

/** Delay of the job that resumes an unfinished activation. */
const resumeSeconds = 60
/** Keys expire after 24 hours: a retry of an older activation could subscribe twice, so it is refused. */
const staleMilliseconds = 23 * 3_600_000

/** The person and the organization of an activation. */
type Activator = Actor & { userId: number; organizationId: number }

type Outcome =
  | { outcome: 'activated'; account: BillingAccount }
  | { outcome: 'refused'; error: ApplicationError }

/**
 * Subscribes an organization to all prices, charged to a card, or returns its live subscription. Stores the
 * activation first, so that a retry after a crash ends in the same subscription.
 */
export async function activatePostpaid(
  deps: Deps,
  viewer: Activator,
  cardId: string,
): Promise<BillingAccount> {
  const { db, config, clock, log, payments } = deps
  const { id } = await ensureAccount(db, config, viewer.organizationId, clock())
  return withLease(deps, id, async (account, lease) => {
    assertAccountOpen(account)
    const pending = await findPendingActivation(db, id)
    if (pending !== undefined) {
      const earlier = await runActivation(deps, viewer, lease, account, pending)
      if (earlier.outcome === 'activated') return earlier.account
    }
    const card = await getCard(deps, account, cardId)
    const customerId = account.processor_customer_id!
    const existing = await callProcessor(log, () => payments.findSubscription(customerId))
    if (existing !== null && isLive(existing.status))
      return applySubscription(deps, lease, existing, { actor: viewer })
    const activation = await createActivation(deps, viewer, account, card.id)
    const result = await runActivation(deps, viewer, lease, account, activation)
    if (result.outcome === 'activated') return result.account
    throw result.error
  })
}

function createActivation(
  { db, clock, jobs }: Deps,
  viewer: Activator,
  { id: accountId }: BillingAccount,
  cardId: string,
): Promise<Activation> {
  return db.transaction().execute(async (transaction) => {
    const activation = await insertActivation(transaction, {
      accountId,
      cardId,
      userId: viewer.userId,
      at: clock(),
    })
    await recordAction(transaction, viewer, 'billing_account.activation_started')
    const task = { activationId: activation.id }
    await jobs.enqueue(transaction, 'resume-activation', task, { afterSeconds: resumeSeconds })
    return activation
  })
}

/** Resumes an activation that did not finish, for example after a crash. */
export async function resumeActivation(deps: Deps, activationId: string): Promise<void> {
  const { db } = deps
  const found = await findActivation(db, activationId)
  if (found?.status !== 'pending') return
  await withLease(deps, found.billing_account_id, async (account, lease) => {
    const activation = await findActivation(db, activationId)
    if (activation?.status === 'pending') await runActivation(deps, serverActor, lease, account, activation)
  })
}

/** Runs the steps of an activation. Repeats are safe: the subscription and idempotency key stay the same. */
async function runActivation(
  deps: Deps,
  actor: Actor,
  lease: AccountLease,
  account: BillingAccount,
  activation: Activation,
): Promise<Outcome> {
  const { db, payments, clock, log } = deps
  const customerId = account.processor_customer_id
  if (customerId === null) throw new Error(`The activation ${activation.id} has no customer`)

  async function refuse(error: ApplicationError): Promise<Outcome> {
    await db
      .updateTable('billing_activations')
      .set({ status: 'refused', finished_at: clock() })
      .where('id', '=', activation.id)
      .where('status', '=', 'pending')
      .execute()
    return { outcome: 'refused', error }
  }
  async function adoptExisting(id: string): Promise<Outcome | null> {
    const existing = await callProcessor(log, () => payments.findSubscription(id))
    if (existing === null || !isLive(existing.status)) return null
    return { outcome: 'activated', account: await applySubscription(deps, lease, existing, { actor }) }
  }

  const adopted = await adoptExisting(customerId)
  if (adopted !== null) return adopted
  if (clock().getTime() - activation.created_at.getTime() > staleMilliseconds) return refuse(cardNotFound())
  const cardId = activation.processor_payment_method_id
  const card = await callProcessor(log, () => payments.findCard(customerId, cardId))
  if (card === null) return refuse(cardNotFound())
  const result = await callProcessor(log, async () => {
    await payments.setDefaultCard(customerId, null, cardId)
    return payments.createSubscription({
      customerId,
      organizationId: account.organization_id,
      cardId,
      anchor: activation.created_at,
      idempotencyKey: activation.id,
    })
  })
  if (result.outcome === 'card_refused') return refuse(toCardError(result))
  // The processor repeats this failure for the same key: refuse, so that the next activation gets a new key.
  if (result.outcome === 'failed') {
    return (await adoptExisting(customerId)) ?? refuse(processorUnavailable(log, result.error))
  }
  return {
    outcome: 'activated',
    account: await applySubscription(deps, lease, result.subscription, { actor }),
  }
}

const consentCodes = ['authentication_required', 'subscription_payment_intent_requires_action']

function toCardError({ code, message }: { code: string; message: string }): ApplicationError {
  const errorCode = consentCodes.includes(code) ? 'authentication_required' : 'card_declined'
  return new ApplicationError(errorCode, message)
}
