import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { useToasts } from '../../components/toast.tsx'
import type { BillingAccount, BillingConfig, CollectionMethodInput } from '../../contract.ts'
import { Badge } from '../../components/badge.tsx'
import type { Tone } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Figure, Section } from '../../components/page.tsx'
import { Skeleton } from '../../components/states.tsx'
import { usageSummaryQuery, billingAccountQuery, billingConfigQuery } from '../../domain/billing/queries.ts'
import { formatMoney, formatNumber, formatUtcDay } from '../../format.ts'
import { text } from '../../text/index.ts'
import { sumDecimals } from '../../domain/billing/decimal.ts'
import { canActivate, isSubscribed } from './account-problem.ts'
import { TrialCredit } from '../../domain/billing/trial-credit.tsx'
import { useUpdateCollectionMethod } from './queries.ts'

/** The plan, the account's status, and the use of its limits. */
export function Plan({ onActivate }: { onActivate: () => void }) {
  const config = useQuery(billingConfigQuery)
  const unknown = { frame: { title: text.billing.plan, description: ' ' }, loading: <LoadingPlan /> }
  return (
    <Loaded query={useQuery(billingAccountQuery)} {...unknown}>
      {(account) => (
        <Loaded query={config} {...unknown}>
          {({ features }) => <LoadedPlan account={account} features={features} onActivate={onActivate} />}
        </Loaded>
      )}
    </Loaded>
  )
}

function LoadedPlan({
  account,
  features,
  onActivate,
}: {
  account: BillingAccount
  features: BillingConfig['features']
  onActivate: () => void
}) {
  const { active_resources: active, max_active_resources: most, billing_mode: mode } = account
  const hasSubscription = isSubscribed(account)
  const isFull = active >= most
  return (
    <Section
      title={
        <span className="flex flex-wrap items-center gap-2">
          {text.billing.plans[mode]} <StatusBadge account={account} />
        </span>
      }
      description={describePlan(account, features)}
      actions={
        canActivate(account, features) && (
          <Button variant="primary" onClick={onActivate}>
            {text.billing.activate}
          </Button>
        )
      }
    >
      <div className="grid gap-6">
        <dl className="grid grid-cols-2 gap-x-6 gap-y-5 sm:grid-cols-3">
          <Figure
            label={text.billing.instances}
            value={text.billing.activeOf(formatNumber(active), formatNumber(most))}
            hint={
              !isFull
                ? text.billing.instancesHint
                : mode === 'trial' && features.postpaid
                  ? text.billing.moreAfterActivation
                  : text.billing.limitReached
            }
          />
          <PeriodFigures />
        </dl>
        {mode === 'trial' && <TrialCredit />}
        {hasSubscription && account.collection_method && (
          <CollectionMethodRow method={account.collection_method} canSend={features.send_invoice} />
        )}
      </div>
    </Section>
  )
}

type Method = CollectionMethodInput['collection_method']

/** Shows whether invoices are charged or sent, with a button to change it. */
function CollectionMethodRow({ method, canSend }: { method: Method; canSend: boolean }) {
  const [isAsking, setAsking] = useState(false)
  const other: Method = method === 'charge_automatically' ? 'send_invoice' : 'charge_automatically'
  const change = useUpdateCollectionMethod()
  const toasts = useToasts()
  return (
    <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-2 border-t pt-5">
      <div className="grid gap-0.5">
        <p className="text-[0.8125rem] text-muted">{text.billing.collection}</p>
        <p>
          <span className="font-medium">{text.billing.collectionMethods[method]}.</span>{' '}
          <span className="text-muted">{text.billing.collectionWords[method]}</span>
        </p>
      </div>
      {(canSend || other === 'charge_automatically') && (
        <Button
          size="small"
          aria-label={`${text.billing.change}: ${text.billing.collection}`}
          onClick={() => {
            change.reset()
            setAsking(true)
          }}
        >
          {text.billing.change}
        </Button>
      )}
      <ConfirmDialog
        open={isAsking}
        onClose={() => setAsking(false)}
        title={text.billing.changeTo[other]}
        description={text.billing.changeWords[other]}
        confirmLabel={text.billing.changeConfirm[other]}
        busy={change.isPending}
        error={change.error}
        onConfirm={() =>
          change.mutate(other, {
            onSuccess: () => {
              setAsking(false)
              toasts.success(text.billing.changed[other])
            },
          })
        }
      />
    </div>
  )
}

/** The billing period and its estimated cost. */
function PeriodFigures() {
  const { data: summary, error } = useQuery(usageSummaryQuery)
  if (!summary) {
    return error ? null : (
      <>
        <FigureSkeleton />
        <FigureSkeleton />
      </>
    )
  }
  const amounts = summary.usage_totals
    .filter((total) => total.estimated_amount_currency === summary.currency)
    .map((total) => total.estimated_amount)
  const end = new Date(Date.parse(summary.period_end) - 1).toISOString()
  return (
    <>
      <Figure
        label={text.billing.period}
        value={text.billing.periodSpan(formatUtcDay(summary.period_start), formatUtcDay(end))}
      />
      <Figure
        label={text.billing.estimate}
        value={formatMoney(sumDecimals(amounts), summary.currency)}
        hint={
          <Link to="/usage" className="font-medium text-accent hover:underline">
            {text.billing.estimateLink}
          </Link>
        }
      />
    </>
  )
}

function describePlan(account: BillingAccount, features: BillingConfig['features']): string {
  if (account.billing_mode === 'trial') return text.billing.planWords[features.trial ? 'trial' : 'none']
  if (!isSubscribed(account)) return text.billing.planWords.ended
  return text.billing.planWords[account.collection_method === 'send_invoice' ? 'invoiced' : 'charged']
}

const tones: Record<BillingAccount['status'], Tone> = {
  active: 'good',
  past_due: 'bad',
  suspended: 'bad',
  closed: 'neutral',
}

function StatusBadge({ account }: { account: BillingAccount }) {
  const { status, billing_mode: mode } = account
  const hasEnded = status === 'active' && mode === 'postpaid' && !isSubscribed(account)
  return (
    <Badge tone={hasEnded ? 'bad' : tones[status]} dot="still">
      {text.billing.statuses[hasEnded ? 'ended' : status]}
    </Badge>
  )
}

function FigureSkeleton() {
  return (
    <div className="grid content-start gap-1.5">
      <Skeleton className="w-24" />
      <Skeleton className="h-6 w-32" />
    </div>
  )
}

function LoadingPlan() {
  return (
    <div role="status" aria-label={text.common.loading} className="grid gap-6">
      <div className="grid grid-cols-2 gap-x-6 gap-y-5 sm:grid-cols-3">
        <FigureSkeleton />
        <FigureSkeleton />
        <FigureSkeleton />
      </div>
      {/* Trial credit or collection method */}
      <Skeleton className="h-12" />
    </div>
  )
}
