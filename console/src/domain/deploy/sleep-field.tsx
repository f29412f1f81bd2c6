import type { DeploymentPlan } from '../../contract.ts'
import { SwitchField } from '../../components/switch-field.tsx'
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
    <SwitchField label={words.offer(formatNumber(offeredIdleMinutes))} checked={checked} onChange={onChange}>
      {plan && price !== null && Number(price) > 0 && words.saves(formatMoney(price, plan.currency))}{' '}
      {words.wakes}
    </SwitchField>
  )
}
