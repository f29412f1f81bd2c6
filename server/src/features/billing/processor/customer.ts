import type { Services } from '../../../services.ts'
import { NotFoundError } from '../../../base/errors.ts'
import type { SavedCard } from '../../../ports/payment-processor.ts'
import { callProcessor } from '../account/errors.ts'
import { setCustomer } from '../account/store.ts'
import type { BillingAccount } from '../account/store.ts'

/**
 * Returns the account's customer id; call it under the lease. Creates the customer if it does not exist, was
 * deleted, or belongs to another processor account. `contact`: the billing contact.
 */
export async function ensureCustomer(
  { db, payments, clock, log }: Pick<Services, 'db' | 'payments' | 'clock' | 'log'>,
  { id, organization_id: organizationId, processor_customer_id: known }: BillingAccount,
  contact: { email: string; organizationName: string },
): Promise<string> {
  const { email, organizationName: name } = contact
  const customerId = await callProcessor(log, async () =>
    known !== null && (await payments.hasCustomer(known))
      ? known
      : payments.createCustomer({ organizationId, email, name, replaces: known }),
  )
  return customerId === known ? known : setCustomer(db, id, known, customerId, clock())
}

/** A saved card of the account; throws a NotFoundError for unknown cards and those of other customers. */
export async function getCard(
  { payments, log }: Pick<Services, 'payments' | 'log'>,
  { processor_customer_id: customerId }: BillingAccount,
  cardId: string,
): Promise<SavedCard> {
  const card =
    customerId !== null && /^\w{1,255}$/.test(cardId)
      ? await callProcessor(log, () => payments.findCard(customerId, cardId))
      : null
  if (card === null) throw cardNotFound()
  return card
}

export function cardNotFound(): NotFoundError {
  return new NotFoundError('Payment method not found.')
}
