import { useQuery } from '@tanstack/react-query'
import { Progress } from '../../components/progress.tsx'
import { Skeleton } from '../../components/states.tsx'
import { formatMoney } from '../../format.ts'
import { text } from '../../text/index.ts'
import { billingAccountQuery, billingConfigQuery } from './queries.ts'

/** The remaining trial credit, if the organization doesn't pay. Requires the `manageBilling` permission. */
export function TrialCredit() {
  const { data: config } = useQuery(billingConfigQuery)
  const { data: account } = useQuery(billingAccountQuery)
  if (config?.features.trial === false) return null
  if (account === undefined) return <Skeleton className="h-8.5" />
  if (account.trial_credit === null) return null
  const { granted, remaining } = account.trial_credit
  const money = (amount: string) => formatMoney(amount, account.currency)
  return (
    <div className="grid gap-2">
      <div className="flex flex-wrap justify-between gap-x-6 text-[0.8125rem]">
        <span className="font-medium">{text.trial.trialCredit}</span>
        <span className="tabular text-muted">{text.trial.creditLeft(money(remaining), money(granted))}</span>
      </div>
      <Progress
        value={Number(granted) > 0 ? Number(remaining) / Number(granted) : 0}
        label={text.trial.creditRemaining}
      />
    </div>
  )
}
