import type { PaymentProcessor } from '../../../ports/payment-processor.ts'
import type { StripeContext } from './context.ts'
import { nullIfMissing } from './errors.ts'
import { toInvoice } from './objects.ts'

/** Customers, their invoices and Stripe's pages for them. */
export function customerOperations({
  stripe,
  installation,
}: StripeContext): Pick<
  PaymentProcessor,
  'createCustomer' | 'hasCustomer' | 'createPortalSession' | 'listInvoices'
> {
  return {
    async createCustomer({ organizationId, email, name, replaces = null }) {
      const generation = replaces === null ? '' : `-after-${replaces}`
      // Stripe rejects an idempotency key with other parameters, so an update sets the email.
      const { id } = await stripe.customers.create(
        { metadata: { installation, organization_id: String(organizationId) } },
        { idempotencyKey: `${installation}-org-${organizationId}-customer${generation}` },
      )
      await stripe.customers.update(id, { email, name })
      return id
    },

    async hasCustomer(customerId) {
      const customer = await nullIfMissing(stripe.customers.retrieve(customerId))
      return customer !== null && !customer.deleted
    },

    async createPortalSession(customerId, returnUrl) {
      const { url } = await stripe.billingPortal.sessions.create({
        customer: customerId,
        return_url: returnUrl,
      })
      return url
    },

    async listInvoices(customerId) {
      const invoices = await nullIfMissing(
        Array.fromAsync(stripe.invoices.list({ customer: customerId, limit: 100 })),
      )
      return (invoices ?? []).filter(({ status, total }) => status !== 'draft' && total !== 0).map(toInvoice)
    },
  }
}
