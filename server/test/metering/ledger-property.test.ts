import fc from 'fast-check'
import { expect, test } from 'vitest'
import { instanceTypeOf, listModelEvents } from './ledger-model.ts'
import type { LedgerModel } from './ledger-model.ts'
import { honestEvents, organizationCount, play, steppingEvents } from './ledger-story.ts'
import type { Event, Story } from './ledger-story.ts'
import { priceChange, prices } from './prices.ts'

const runs = 10_000
const limit = 150_000
/** Plays events while it sends what is sealed, again and again as one that was killed does; checks that nothing once sent changes. */
function playAndSend(events: readonly Event[]): Story & { sent: Map<string, number> } {
  const sent = new Map<string, number>()
  const send = (model: LedgerModel, organization: number) => {
    const ledger = model.organizations.get(organization)
    if (ledger === undefined) return
    for (const { priceKey, hour, quantity } of listModelEvents(ledger)) {
      const event = `${organization}:${priceKey}:${hour.getTime()}`
      if ((sent.get(event) ?? quantity) !== quantity) throw new Error(`${event} has two quantities`)
      sent.set(event, quantity)
    }
  }
  return { ...play(events, prices, send), sent }
}

function checkBilled({ model, deployments, tokens, sent }: ReturnType<typeof playAndSend>): void {
  for (let organization = 0; organization < organizationCount; organization++) {
    const ledger = model.organizations.get(organization)
    if (ledger === undefined) continue
    const buckets = [...ledger.sealed.values()]
    if (ledger.open.size > 0) throw new Error('something was left unsealed')
    for (const type of ['even', 'odd']) {
      const used = deployments
        .filter((each) => each.organization === organization && instanceTypeOf(each.id) === type && each.ran)
        .reduce((sum, { from, to }) => sum + (to! - from!), 0)
      const spans = ledger.spans.filter(({ confirmed, instanceType }) => confirmed && instanceType === type)
      expect(spans.reduce((sum, span) => sum + (span.endedAt!.getTime() - span.startedAt.getTime()), 0)).toBe(
        used,
      )
      const ofType = buckets.filter(({ dimensions }) => dimensions['instance_type'] === type)
      expect(ofType.reduce((sum, { thousandths }) => sum + thousandths, 0)).toBe(used)
      for (const {
        hour,
        thousandths,
        price: { unit },
      } of ofType) {
        if (thousandths > 3_600_000) throw new Error('an hour holds more than an hour')
        if (unit?.amount !== (hour < priceChange ? '0.001' : '0.002'))
          throw new Error('a price of another time')
      }
      const told = [...sent]
        .filter(([event]) => event.startsWith(`${organization}:gpu_instance_seconds.${type}.`))
        .reduce((sum, [, quantity]) => sum + quantity, 0)
      expect(told).toBe(Math.floor(used / 1000))
    }
    for (const [meter, of] of [
      ['inference_input_tokens', 'input'],
      ['inference_output_tokens', 'output'],
    ] as const) {
      const used = tokens
        .filter((each) => each.organization === organization)
        .reduce((sum, each) => sum + each[of], 0)
      const billed = buckets.filter((bucket) => bucket.meter === meter)
      expect(billed.reduce((sum, { thousandths }) => sum + thousandths, 0)).toBe(used * 1000)
    }
  }
}

test(
  'billed seconds are the seconds from the provider’s start to the release, whatever dies in between',
  () => {
    fc.assert(
      fc.property(honestEvents, (events) => {
        const story = playAndSend(events)
        for (const { ran, from, given, to, confirmedAt } of story.deployments) {
          // Clocks that are set right are never overruled.
          if (ran) expect([from, to]).toEqual([given, confirmedAt])
        }
        checkBilled(story)
      }),
      { numRuns: runs },
    )
  },
  limit,
)

test(
  'with clocks that step: seconds are billed once, none is negative, and no sealed hour changes',
  () => {
    fc.assert(
      fc.property(steppingEvents, (events) => checkBilled(playAndSend(events))),
      { numRuns: runs },
    )
  },
  limit,
)
