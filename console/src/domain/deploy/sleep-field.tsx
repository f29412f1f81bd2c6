import type { DeploymentPlan } from '../../contract.ts'
import { formatMoney, formatNumber } from '../../format.ts'
import { text } from '../../text/index.ts'

const words = text.instances

/** After so many minutes without requests a deployment sleeps, if the person wants that. */
export const offeredIdleMinutes = 30

/** Lets a new deployment sleep, with what an idle hour costs otherwise. */
export function SleepField({
  plan,
  checked,
  onChange,
}: {
  /** Undefined until the first plan is known. */
  plan: DeploymentPlan | undefined
  checked: boolean
  onChange: (checked: boolean) => void
}) {
  const price = plan?.price_per_hour ?? null
  return (
    <label className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-2.5">
      <input
        type="checkbox"
        className="mt-1 self-start accent-accent"
        checked={checked}
        onChange={({ target }) => onChange(target.checked)}
      />
      <span className="font-medium">{words.offer(formatNumber(offeredIdleMinutes))}</span>
      <span className="col-start-2 text-[0.8125rem] text-muted">
        {plan && price !== null && Number(price) > 0 && words.saves(formatMoney(price, plan.currency))}{' '}
        {words.wakes}
      </span>
    </label>
  )
}
