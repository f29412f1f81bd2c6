import type { Services } from '../../services.ts'
import { addHours, latest } from './hours.ts'
import { planUsageEvents } from './ledger.ts'
import type { UsageEventPlan } from './ledger.ts'
import { listSealedHours } from './store.ts'

/** How far an organization's sealed usage was read. */
export interface UsagePosition {
  /** The first hour that was not */
  from: Date
  /** Thousandths of a unit that the hours before it left over, by price key */
  remainders: Readonly<Record<string, number>>
}

/** Some days of an organization's usage. */
interface UsageRead {
  /** The hour that was read from */
  from: Date
  events: UsageEventPlan[]
  /** The position after them */
  next: UsagePosition
}

/**
 * What a payment processor must be told of an organization's usage from a position on: every sealed hour of every price that is
 * not free of charge, in whole units, some days at a time. From a first position that stays the same for an organization, what is
 * read once is read the same for ever.
 */
export async function* readUsageEvents(
  { db }: Pick<Services, 'db'>,
  organizationId: number,
  { from, remainders }: UsagePosition,
): AsyncGenerator<UsageRead, void> {
  for (;;) {
    const hours = await listSealedHours(db, organizationId, from)
    if (hours.length === 0) return
    const plans = [...Map.groupBy(hours, ({ priceKey }) => priceKey)].map(([priceKey, group]) => ({
      priceKey,
      ...planUsageEvents(priceKey, group, remainders[priceKey]),
    }))
    const left = plans.map(({ priceKey, remainder }) => [priceKey, remainder] as const)
    const next = {
      // An organization's hours are sealed in order and all at once: none before the last one comes later.
      from: addHours(latest(...hours.map(({ hour }) => hour)), 1),
      remainders: { ...remainders, ...Object.fromEntries(left) },
    }
    yield { from, events: plans.flatMap(({ events }) => events), next }
    ;({ from, remainders } = next)
  }
}
