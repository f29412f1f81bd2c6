import type { Services } from '../../services.ts'
import { currentPeriod, isLive } from './account-state.ts'
import { ensureAccount } from './store.ts'

/** The current billing period of an organization, and from when on its usage is charged; null without a subscription. */
export async function getCurrentPeriod(
  { db, config, clock }: Pick<Services, 'db' | 'config' | 'clock'>,
  organizationId: number,
): Promise<{ start: Date; end: Date; chargedSince: Date | null }> {
  const now = clock()
  const account = await ensureAccount(db, config, organizationId, now)
  return {
    ...currentPeriod(account, now),
    chargedSince: isLive(account.subscription_status) ? account.postpaid_since : null,
  }
}
