import type { Services } from '../../../services.ts'
import type { UsagePeriod } from '../../metering/summary.ts'
import { currentPeriod, isLive } from '../account/account-state.ts'
import { ensureAccount, listAccountsOf } from '../account/store.ts'
import type { BillingAccount } from '../account/store.ts'

/** The current billing period of an organization. */
export async function getCurrentPeriod(
  { db, config, clock }: Pick<Services, 'db' | 'config' | 'clock'>,
  organizationId: number,
): Promise<UsagePeriod> {
  const now = clock()
  return toUsagePeriod(await ensureAccount(db, config, organizationId, now), now)
}

/** The current billing periods of organizations that have a billing account, by organization. */
export async function listCurrentPeriods(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  organizationIds: readonly number[],
): Promise<Map<number, UsagePeriod>> {
  const now = clock()
  const accounts = await listAccountsOf(db, organizationIds)
  return new Map(accounts.map((account) => [account.organization_id, toUsagePeriod(account, now)]))
}

function toUsagePeriod(account: BillingAccount, now: Date): UsagePeriod {
  return {
    ...currentPeriod(account, now),
    chargedSince: isLive(account.subscription_status) ? account.postpaid_since : null,
  }
}
