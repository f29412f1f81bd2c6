import type { Application } from '../../src/wiring/application.ts'
import { listSandboxObjects, openSandboxTables } from '../support/sandbox.ts'
import type { StepName } from './billing-steps.ts'
import type { StepOrganization } from './killed-step.ts'

/** An organization's usage in consecutive hours, in thousandths of a second */
export const hoursUsed = [1_800_400, 300, 3_599_900, 3_600_000, 700]
const unitsUsed = Math.floor(hoursUsed.reduce((sum, thousandths) => sum + thousandths, 0) / 1000)

export function readAccount({ db }: Application, { organizationId }: StepOrganization) {
  return db
    .selectFrom('billing_accounts')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .executeTakeFirstOrThrow()
}

/** The invariants after each step, however often it was started. */
export const checks: Record<StepName, (application: Application, viewer: StepOrganization) => Promise<void>> =
  {
    async activation(application, viewer) {
      const account = await readAccount(application, viewer)
      const customers = (await listSandboxObjects(application, 'customer')).filter(
        ({ metadata }) => metadata.organization_id === String(viewer.organizationId),
      )
      const subscriptions = (await listSandboxObjects(application, 'subscription')).filter(
        ({ metadata }) => metadata.organization_id === String(viewer.organizationId),
      )
      expectSame(
        'customers',
        customers.map(({ id }) => id),
        [account.processor_customer_id],
      )
      expectSame(
        'subscriptions',
        subscriptions.map(({ id }) => id),
        [account.processor_subscription_id],
      )
      expectSame(
        'account',
        [
          account.billing_mode,
          account.status,
          account.subscription_status,
          account.auto_charge_enabled_by_user_id,
        ],
        ['postpaid', 'active', 'active', viewer.userId],
      )
      const activations = await application.db
        .selectFrom('billing_activations')
        .select('status')
        .where('billing_account_id', '=', account.id)
        .execute()
      expectSame(
        'activations',
        activations.map(({ status }) => status),
        ['done'],
      )
    },

    async usage(application, viewer) {
      const account = await readAccount(application, viewer)
      const events = await openSandboxTables(application)
        .selectFrom('meter_events')
        .select('value')
        .where('customer_id', '=', account.processor_customer_id!)
        .execute()
      const reports = await application.db
        .selectFrom('usage_reports')
        .selectAll()
        .where('organization_id', '=', viewer.organizationId)
        .execute()
      const sum = events.reduce((total, { value }) => total + Number(value), 0)
      expectSame('units at the processor', sum, unitsUsed)
      expectSame(
        'usage reports',
        reports.map(({ status }) => status),
        events.map(() => 'sent'),
      )
    },

    invoice: checkInvoice,
    payment: checkInvoice,
  }

async function checkInvoice(application: Application, viewer: StepOrganization): Promise<void> {
  const account = await readAccount(application, viewer)
  const invoices = (await listSandboxObjects(application, 'invoice')).filter(
    (invoice) =>
      invoice.customer === account.processor_customer_id && invoice.billing_reason === 'subscription_cycle',
  )
  const cents = Math.round(unitsUsed * 0.001)
  expectSame(
    'invoices',
    invoices.map(({ status, amount_due: due, amount_paid: paid }) => [status, due, paid]),
    [['paid', cents, cents]],
  )
  expectSame('period', account.current_period_end! > application.clock(), true)
  const undelivered = await openSandboxTables(application)
    .selectFrom('events')
    .select('id')
    .where('delivered_at', 'is', null)
    .execute()
  expectSame('undelivered events', undelivered, [])
}

function expectSame(subject: string, actual: unknown, expected: unknown): void {
  if (JSON.stringify(actual) === JSON.stringify(expected)) return
  throw new Error(`${subject}: ${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`)
}
