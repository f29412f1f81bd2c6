import type { Application } from '../../src/wiring/application.ts'
import { activatePostpaid } from '../../src/features/billing/processor/activate.ts'
import { receiveWebhook } from '../../src/features/billing/processor/events.ts'
import { listPaymentMethods } from '../../src/features/billing/processor/payment-methods.ts'
import { reportUsage } from '../../src/features/billing/reports/report-usage.ts'
import { createPortalSession } from '../../src/features/billing/processor/hosted-pages.ts'
import type { Viewer } from '../../src/base/viewer.ts'
import { callSandbox } from '../support/sandbox.ts'
import type { StepOrganization } from './killed-step.ts'

export type StepName = 'activation' | 'usage' | 'invoice' | 'payment'

export type BillingStep = (application: Application, organization: StepOrganization) => Promise<void>

/** Billing steps that may be killed at any point and must have the same result when repeated. */
export const steps: Record<StepName, BillingStep> = {
  /** From a new organization to an active subscription */
  async activation(application, organization) {
    const viewer = organization as Viewer
    await createPortalSession(application, viewer, undefined)
    const { processor_customer_id: customer } = await application.db
      .selectFrom('billing_accounts')
      .select('processor_customer_id')
      .where('organization_id', '=', organization.organizationId)
      .executeTakeFirstOrThrow()
    let [card] = await listPaymentMethods(application, viewer)
    if (card === undefined) {
      const path = '/v1/payment_methods/pm_card_visa/attach'
      await callSandbox(application, 'POST', path, { customer: customer! })
      card = (await listPaymentMethods(application, viewer))[0]
    }
    await activatePostpaid(application, viewer, card!.id)
  },

  usage: (application) => reportUsage(application),

  /** A period ends and its invoice is created */
  invoice: tick,

  /** The invoice is finalized and charged */
  payment: tick,
}

/** Advances the sandbox and delivers its webhooks. */
async function tick(application: Application): Promise<void> {
  await application.paymentSandbox!.tick((body, signature) =>
    receiveWebhook(application, Buffer.from(body), signature),
  )
}
