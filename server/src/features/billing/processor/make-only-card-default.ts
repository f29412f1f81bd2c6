import type { Services } from '../../../services.ts'

/** Makes a customer's only card the default. Stripe's checkout doesn't, and invoices need a default. */
export async function makeOnlyCardDefault(
  { payments }: Pick<Services, 'payments'>,
  customerId: string,
): Promise<void> {
  const [card, ...others] = await payments.listCards(customerId)
  if (card === undefined || card.isDefault || others.length > 0) return
  await payments.setDefaultCard(customerId, null, card.id)
}
