import type { PaymentProcessor } from '../../../ports/payment-processor.ts'
import type { StripeContext } from './context.ts'
import { isUnexpectedState, nullIfMissing } from './errors.ts'
import { toSavedCard, toSetupSession } from './objects.ts'

/** The cards of a customer, and the form that adds one. */
export function cardOperations(
  context: StripeContext,
): Pick<
  PaymentProcessor,
  'createSetupSession' | 'findSetupResult' | 'listCards' | 'findCard' | 'setDefaultCard' | 'detachCard'
> {
  const { stripe, installation } = context
  return {
    async createSetupSession({ customerId, organizationId, currency, purpose, returnUrl }) {
      const metadata = { installation, organization_id: String(organizationId), purpose }
      const session = await stripe.checkout.sessions.create({
        mode: 'setup',
        ui_mode: 'embedded_page',
        customer: customerId,
        currency,
        return_url: returnUrl,
        metadata,
        setup_intent_data: { metadata },
      })
      return toSetupSession(session)
    },

    async findSetupResult(sessionId) {
      const session = await nullIfMissing(
        stripe.checkout.sessions.retrieve(sessionId, { expand: ['setup_intent'] }),
      )
      if (session === null) return null
      const { setup_intent: intent, status } = session
      if (status !== 'complete') return { status: status === 'expired' ? 'expired' : 'open' }
      const cardId = typeof intent === 'object' ? idOf(intent?.payment_method ?? null) : null
      if (cardId === null) throw new Error(`The setup session ${sessionId} has no payment method`)
      return { status: 'complete', cardId }
    },

    async listCards(customerId) {
      const defaultId = await findDefaultCardId(context, customerId)
      const methods = await nullIfMissing(
        Array.fromAsync(stripe.customers.listPaymentMethods(customerId, { type: 'card', limit: 100 })),
      )
      return (methods ?? []).flatMap((method) => toSavedCard(method, defaultId) ?? [])
    },

    async findCard(customerId, cardId) {
      const method = await nullIfMissing(stripe.customers.retrievePaymentMethod(customerId, cardId))
      return method === null ? null : toSavedCard(method, await findDefaultCardId(context, customerId))
    },

    async setDefaultCard(customerId, subscriptionId, cardId) {
      await stripe.customers.update(customerId, { invoice_settings: { default_payment_method: cardId } })
      if (subscriptionId !== null) {
        await stripe.subscriptions.update(subscriptionId, { default_payment_method: cardId })
      }
    },

    async detachCard(cardId) {
      try {
        await stripe.paymentMethods.detach(cardId)
      } catch (error) {
        if (!isUnexpectedState(error)) throw error
        const method = await nullIfMissing(stripe.paymentMethods.retrieve(cardId))
        if (method?.customer) throw error
      }
    },
  }
}

async function findDefaultCardId({ stripe }: StripeContext, customerId: string): Promise<string | null> {
  const customer = await nullIfMissing(stripe.customers.retrieve(customerId))
  if (customer === null || customer.deleted) return null
  return idOf(customer.invoice_settings.default_payment_method)
}

function idOf(reference: string | { id: string } | null): string | null {
  return typeof reference === 'string' ? reference : (reference?.id ?? null)
}
