import type { Services } from '../../../services.ts'

/**
 * Makes the only saved card of a customer the default. Stripe's checkout saves a card without doing so, and
 * invoices without a default card can't be charged.
 */
export async function makeOnlyCardDefault(
  { payments }: Pick<Services, 'payments'>,
  customerId: string,
): Promise<void> {
  const [card, ...others] = await payments.listCards(customerId)
  if (card === undefined || card.isDefault || others.length > 0) return
  await payments.setDefaultCard(customerId, null, card.id)
}
