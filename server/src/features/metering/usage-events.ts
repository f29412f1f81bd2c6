import type { Services } from '../../services.ts'
import { addHours, latest } from './hours.ts'
import { planUsageEvents } from './ledger.ts'
import type { UsageEventPlan } from './ledger.ts'
import { listSealedHours } from './store.ts'

/** A position in the sealed usage of an organization. */
export interface UsagePosition {
  /** The first unread hour */
  from: Date
  /** Fractions of a unit carried over from earlier hours, in thousandths, by price key */
  remainders: Readonly<Record<string, number>>
}

/** A page of an organization's usage. */
interface UsagePage {
  /** The first hour of the page */
  from: Date
  events: UsageEventPlan[]
  /** The position of the next page */
  next: UsagePosition
}

/** Pages through sealed hours of paid prices in whole units. Sealed hours are final: pages repeat exactly. */
export async function* readUsageEvents(
  { db }: Pick<Services, 'db'>,
  organizationId: number,
  { from, remainders }: UsagePosition,
): AsyncGenerator<UsagePage, void> {
  for (;;) {
    const hours = await listSealedHours(db, organizationId, from)
    if (hours.length === 0) return
    const plans = [...Map.groupBy(hours, ({ priceKey }) => priceKey)].map(([priceKey, group]) => ({
      priceKey,
      ...planUsageEvents(priceKey, group, remainders[priceKey]),
    }))
    const carried = plans.map(({ priceKey, remainder }) => [priceKey, remainder] as const)
    const next = {
      // The hours of an organization are sealed in order, so no earlier hour can appear later.
      from: addHours(latest(...hours.map(({ hour }) => hour)), 1),
      remainders: { ...remainders, ...Object.fromEntries(carried) },
    }
    yield { from, events: plans.flatMap(({ events }) => events), next }
    ;({ from, remainders } = next)
  }
}
