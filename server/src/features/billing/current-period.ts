import type { Services } from '../../services.ts'
import { currentPeriod } from './account-state.ts'
import { ensureAccount } from './store.ts'

/** The billing period of an organization that it is now. */
export async function getCurrentPeriod(
  { db, config, clock }: Pick<Services, 'db' | 'config' | 'clock'>,
  organizationId: number,
): Promise<{ start: Date; end: Date }> {
  const now = clock()
  return currentPeriod(await ensureAccount(db, config, organizationId, now), now)
}
