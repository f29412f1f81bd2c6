import type { Application } from '../../application.ts'
import { planUsageEvents } from './ledger.ts'
import type { UsageEventPlan } from './ledger.ts'
import { listSealedHours } from './store.ts'

/**
 * What a payment processor must be told of an organization's usage since `from`, a whole hour that must stay the same for an
 * organization: every sealed hour of every price that is not free of charge, in whole units. What is listed once is listed the
 * same for ever; more is added as hours are sealed.
 */
export async function listUsageEvents(
  { db }: Pick<Application, 'db'>,
  organizationId: number,
  from: Date,
): Promise<UsageEventPlan[]> {
  const hours = await listSealedHours(db, organizationId, from)
  return [...Map.groupBy(hours, ({ priceKey }) => priceKey)].flatMap(([priceKey, group]) =>
    planUsageEvents(priceKey, group),
  )
}
