import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { Check } from 'lucide-react'
import { organizationQuery, useCan } from '../../api/session.ts'
import type { DeploymentPlan } from '../../contract.ts'
import { classNames } from '../../class-names.ts'
import { Disclosure } from '../../components/disclosure.tsx'
import { Figure } from '../../components/page.tsx'
import { Notice, Skeleton } from '../../components/states.tsx'
import { formatBytes, formatDuration, formatMoney, formatNumber } from '../../format.ts'
import { text } from '../../text/index.ts'
import { billingAccountQuery } from '../billing/queries.ts'
import { isOfEndpoint, writeTokenPrices } from '../models/endpoint-models.ts'
import { weightsQuery } from '../models/queries.ts'
import { areWeightsHere } from '../models/weights.ts'

const words = text.catalog
const hoursOfMonth = 730

interface PlanProps {
  /** The name of the model */
  model: string
  plan: DeploymentPlan
}

/** The planned instance type, price and reason, or why none fits. `isStale` while a new plan loads. */
export function PlanPanel({ model, plan, isStale }: PlanProps & { isStale: boolean }) {
  return (
    <div aria-busy={isStale || undefined} className={classNames('grid gap-3', isStale && 'opacity-60')}>
      {plan.feasible && (isOfEndpoint(plan) ? <Outside plan={plan} /> : <Chosen model={model} plan={plan} />)}
      <div role="status" className={plan.feasible ? 'sr-only' : ''}>
        {plan.feasible ? (
          text.plan.plannedSummary(plan.instance_type ?? '', writePlanPrice(plan))
        ) : (
          <Notice tone="warn">
            <p className="break-words">{plan.reason}</p>
          </Notice>
        )}
      </div>
      {plan.feasible && (
        <Disclosure summary={text.plan.howCalculated}>
          <p className="px-4 py-3 text-[0.8125rem] break-words">{plan.reason}</p>
        </Disclosure>
      )}
      {plan.considered.length > 0 && !isOfEndpoint(plan) && <Considered plan={plan} />}
    </div>
  )
}

/** What a model of an endpoint costs and takes: nothing is chosen for it. */
function Outside({ plan }: Pick<PlanProps, 'plan'>) {
  return (
    <section aria-label={text.plan.planned} className="grid gap-4 rounded-lg border px-4 py-3.5">
      <dl className="grid grid-cols-2 gap-x-6 gap-y-4 sm:grid-cols-3">
        <Figure label={words.price} value={writePlanPrice(plan)} hint={text.variants.perMillionNote} />
        <Payer />
        {plan.context_tokens !== null && (
          <Figure label={text.plan.context} value={text.plan.tokens(formatNumber(plan.context_tokens))} />
        )}
      </dl>
    </section>
  )
}

function writePlanPrice(plan: DeploymentPlan): string {
  if (!isOfEndpoint(plan)) return writePrice(plan.price_per_hour, plan.currency)
  return writeTokenPrices(plan.token_prices, plan.currency) ?? words.priceUnknown
}

function Chosen({ model, plan }: PlanProps) {
  const { data: weights } = useQuery(weightsQuery)
  const isHere = areWeightsHere(weights?.items ?? [], { ...plan, model_name: model })
  const month =
    plan.price_per_hour === null
      ? undefined
      : formatMoney(Number(plan.price_per_hour) * hoursOfMonth, plan.currency)
  return (
    <section aria-label={text.plan.planned} className="grid gap-4 rounded-lg border px-4 py-3.5">
      <dl className="grid grid-cols-2 gap-x-6 gap-y-4 sm:grid-cols-3">
        <Figure
          label={text.plan.instance}
          value={<span className="break-all">{plan.instance_type}</span>}
          hint={plan.gpu_count !== null && words.gpus(plan.gpu_count, plan.instance_type)}
        />
        <Figure label={text.plan.region} value={<span className="break-all">{plan.region}</span>} />
        <Figure
          label={words.memory}
          value={plan.memory_bytes === null ? '' : formatBytes(plan.memory_bytes)}
        />
        <Figure
          label={words.price}
          value={writePrice(plan.price_per_hour, plan.currency)}
          hint={month && text.plan.perMonth(month)}
        />
        <Payer />
        {plan.weight_bytes !== null && (
          <Figure
            label={text.plan.weightSize}
            value={formatBytes(plan.weight_bytes)}
            hint={isHere ? text.plan.weightsHere : text.plan.weightSizeHint}
          />
        )}
        {plan.start_seconds !== null && (
          <Figure
            label={text.plan.timeToReady}
            value={formatDuration(plan.start_seconds * 1_000)}
            hint={text.plan.timeToReadyHint}
          />
        )}
        {plan.context_tokens !== null && plan.context_limited_by !== null && (
          <Figure
            label={text.plan.context}
            value={text.plan.tokens(formatNumber(plan.context_tokens))}
            hint={text.plan.contextLimits[plan.context_limited_by]}
          />
        )}
        {plan.parallel_sequences !== null && plan.sequences_limited_by !== null && (
          <Figure
            label={text.plan.parallel}
            value={formatNumber(plan.parallel_sequences)}
            hint={text.plan.sequenceLimits[plan.sequences_limited_by]}
          />
        )}
      </dl>
      <Others plan={plan} />
    </section>
  )
}

/** Who pays, with the trial's credit for those who may see it. */
function Payer() {
  const { data: organization } = useSuspenseQuery(organizationQuery)
  const mayRead = useCan()('manageBilling')
  const { data: account } = useQuery({ ...billingAccountQuery, enabled: mayRead })
  const credit = account?.trial_credit
  return (
    <Figure
      label={text.plan.paidBy}
      value={<span className="break-words">{organization.name}</span>}
      hint={credit && text.plan.trialLeft(formatMoney(credit.remaining, account.currency))}
    />
  )
}

/** What the next cheaper and the next larger instance type would serve. */
function Others({ plan }: { plan: DeploymentPlan }) {
  const others = [
    { label: text.plan.cheaper, other: plan.cheaper },
    { label: text.plan.larger, other: plan.larger },
  ]
  if (plan.cheaper === null && plan.larger === null) return null
  return (
    <ul className="grid gap-1 border-t pt-3 text-[0.8125rem]">
      {others.map(
        ({ label, other }) =>
          other && (
            <li key={label} className="flex flex-wrap justify-between gap-x-4">
              <span>
                <span className="text-muted">{label}: </span>
                <span className="font-medium break-all">{other.instance_type}</span>
              </span>
              <span className="tabular text-muted">
                {text.plan.alternativeCapacity(
                  formatNumber(other.context_tokens),
                  formatNumber(other.parallel_sequences),
                )}
                {', '}
                {writePrice(other.price_per_hour, plan.currency)}
              </span>
            </li>
          ),
      )}
    </ul>
  )
}

/** A collapsed list of every instance type that was considered, with the chosen one first. */
function Considered({ plan }: { plan: DeploymentPlan }) {
  return (
    <Disclosure summary={text.plan.considered(plan.considered.length)}>
      <ul className="divide-y">
        {plan.considered.map((one, place) => (
          <li
            key={`${one.cluster_id ?? ''} ${one.instance_type}`}
            className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-4 px-4 py-2.5 text-[0.8125rem]"
          >
            <span className="font-medium break-all">
              {one.cluster_id === undefined ? one.instance_type : `${one.instance_type} (${one.cluster_id})`}
            </span>
            <span className="tabular text-right">{writePrice(one.price_per_hour, plan.currency)}</span>
            <span className="text-muted">{one.reason}</span>
            <span
              className={classNames(
                'inline-flex items-center justify-end gap-1.5',
                one.fits ? 'text-good' : 'text-muted',
              )}
            >
              {one.fits && <Check aria-hidden className="size-3.5" />}
              {plan.feasible && place === 0 ? text.plan.chosen : one.fits ? words.fits : text.plan.passedOver}
            </span>
          </li>
        ))}
      </ul>
    </Disclosure>
  )
}

export function PlanSkeleton() {
  return (
    <div role="status" aria-label={text.common.loading} className="grid gap-3">
      <div className="grid gap-4 rounded-lg border px-4 py-3.5">
        <div className="grid grid-cols-2 gap-x-6 gap-y-4 sm:grid-cols-3">
          {Array.from({ length: 7 }, (_, figure) => (
            <div key={figure} className="grid h-16 content-start gap-2.5 pt-1">
              <Skeleton className="w-16" />
              <Skeleton className="h-5 w-24" />
            </div>
          ))}
        </div>
      </div>
      <div className="h-10 rounded-lg border" />
      <div className="h-10 rounded-lg border" />
    </div>
  )
}

function writePrice(price: string | null, currency: string): string {
  return price === null ? words.priceUnknown : words.perHour(formatMoney(price, currency))
}
