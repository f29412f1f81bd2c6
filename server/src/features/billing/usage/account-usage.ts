import type { Services } from '../../../services.ts'
import { formatDecimal, subtract } from '../../../base/decimal.ts'
import { sumAmount } from '../../metering/summary.ts'
import { countActive } from '../account/store.ts'
import type { BillingAccount } from '../account/store.ts'

/** The use of an account's resource limit and trial credit. */
export interface AccountUsage {
  /** Deployments that count against the limit */
  activeResources: number
  /** Decimal strings in the currency's main unit; null when the account is not on trial */
  trialCredit: { granted: string; used: string; remaining: string } | null
}

export async function readAccountUsage(
  deps: Pick<Services, 'db' | 'config' | 'clock' | 'prices'>,
  { organization_id: organizationId, billing_mode: mode }: BillingAccount,
): Promise<AccountUsage> {
  const { db, config } = deps
  const onTrial = mode === 'trial' && config.billing.trial
  return {
    activeResources: (await countActive(db, organizationId)).instances,
    trialCredit: onTrial
      ? toTrialCredit(
          config.billing.trialCredit,
          await sumAmount(deps, organizationId, { withoutEndpoints: true }),
        )
      : null,
  }
}

/** Deployments continue after the credit is used up: `used` can exceed `granted`, `remaining` stays ≥ 0. */
function toTrialCredit(granted: string, used: string) {
  const left = subtract(granted, used)
  return { granted: formatDecimal(granted), used, remaining: left.startsWith('-') ? '0' : left }
}
