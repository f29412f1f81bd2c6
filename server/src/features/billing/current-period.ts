import type { Services } from '../../services.ts'
import { currentPeriod } from './account-state.ts'
import { ensureAccount } from './store.ts'

/** The current billing period of an organization. */
export async function getCurrentPeriod(
  { db, config, clock }: Pick<Services, 'db' | 'config' | 'clock'>,
  organizationId: number,
): Promise<{ start: Date; end: Date }> {
  const now = clock()
  return currentPeriod(await ensureAccount(db, config, organizationId, now), now)
}
