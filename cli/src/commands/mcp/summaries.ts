import type {
  DeployableModel,
  Deployment,
  DeploymentEvent,
  DeploymentPlan,
  Invoice,
  UsageSummary,
} from '../../../../console/src/contract.ts'
import { formatSize } from '../../base/format.ts'

/** The API's objects would fill the context of a small model, so agents get what they decide by. */

/** Of so few models, an agent gets the description and the variants too */
const fewModels = 5
const longestLine = 300
const latestEvents = 30
const latestInvoices = 12

export function summarizeModels(models: readonly DeployableModel[]): object[] {
  return models.map(models.length > fewModels ? nameModel : describeModel)
}

function nameModel({ model_name, model_type, variants }: DeployableModel): object {
  const sizes = [...new Set(variants.map(({ model_size_in_billions: size }) => size))]
  return {
    model_name,
    model_type,
    sizes: sizes
      .toSorted((one, other) => one - other)
      .map(formatSize)
      .join(' '),
  }
}

function describeModel(model: DeployableModel): object {
  const { description, tags, base_model, variants } = model
  return withoutNulls({
    ...nameModel(model),
    description,
    tags,
    base_model,
    variants: variants.map(
      ({ model_format: format, model_size_in_billions: size, quantizations }) =>
        `${formatSize(size)} ${format}: ${quantizations.join(' ')}`,
    ),
  })
}

export function summarizePlan(plan: DeploymentPlan): object {
  // The reason has the instance types that were considered.
  const { considered: _, ...facts } = plan
  return withoutNulls(facts)
}

export function summarizeDeployment(deployment: Deployment): object {
  const { id, model_name, alias, status, status_message, failure_reason, created_at, owner } = deployment
  return withoutNulls({
    id,
    model_name,
    alias,
    status,
    status_message,
    failure_reason,
    instance_type: deployment.selected_instance_type,
    context_tokens: deployment.context_tokens,
    owner: owner.email,
    created_at,
  })
}

/** Why a deployment has its status: `log` are lines of its engine. */
export function explainDeployment(
  deployment: Deployment,
  events: readonly DeploymentEvent[],
  log: readonly string[],
): object {
  const { selection_reason, instances, policy, adapters } = deployment
  return {
    deployment: withoutNulls({
      ...summarizeDeployment(deployment),
      selection_reason,
      policy,
      adapters: adapters.map(({ model_name: name }) => name),
      instances: instances.map(
        ({ status, instance_type: type }) => `${status} on ${type ?? 'no instance type yet'}`,
      ),
    }),
    events: events.slice(-latestEvents).map(({ at, status, message }) => ({ at, status, message })),
    log: log.map((line) => line.slice(0, longestLine)),
  }
}

export function summarizeUsage(usage: UsageSummary): object {
  const { usage_totals: totals, open_anomalies: _, ...summary } = usage
  return {
    ...summary,
    usage: totals.map((total) => ({
      name: total.display_name,
      of: Object.values(total.dimensions).join(' '),
      quantity: `${total.total_quantity} ${total.unit}s`,
      amount: total.estimated_amount,
    })),
  }
}

/** The latest invoices. Amounts are in the smallest unit of the currency, as processors have them. */
export function summarizeInvoices(invoices: readonly Invoice[]): object[] {
  return invoices
    .slice(0, latestInvoices)
    .map(
      ({
        processor_invoice_id: id,
        status,
        period_start,
        period_end,
        amount_due,
        amount_paid,
        currency,
      }) => ({
        id,
        status,
        period_start,
        period_end,
        amount_due,
        amount_paid,
        currency,
      }),
    )
}

function withoutNulls(facts: Record<string, unknown>): object {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== null))
}
