import fc from 'fast-check'
import { expect, test } from 'vitest'
import { instanceTypeOf, listModelEvents } from './ledger-model.ts'
import type { LedgerModel } from './ledger-model.ts'
import { honestEvents, organizationCount, play, steppingEvents } from './ledger-story.ts'
import type { Event, Story } from './ledger-story.ts'
import { priceChange, prices } from './prices.ts'

const runs = Number(process.env['LEDGER_RUNS'] ?? 2_000)
const limit = 150_000

/**
 * Plays events, reports all sealed usage again after each settlement, and checks that no reported quantity
 * changes.
 */
function playAndReport(events: readonly Event[]): Story & { reported: Map<string, number> } {
  const reported = new Map<string, number>()
  const report = (model: LedgerModel, organization: number) => {
    const ledger = model.organizations.get(organization)
    if (ledger === undefined) return
    for (const { priceKey, hour, quantity } of listModelEvents(ledger)) {
      const event = `${organization}:${priceKey}:${hour.getTime()}`
      if ((reported.get(event) ?? quantity) !== quantity) throw new Error(`${event} has two quantities`)
      reported.set(event, quantity)
    }
  }
  return { ...play(events, prices, report), reported }
}

function checkBilled({ model, deployments, tokens, reported }: ReturnType<typeof playAndReport>): void {
  for (let organization = 0; organization < organizationCount; organization++) {
    const ledger = model.organizations.get(organization)
    if (ledger === undefined) continue
    const buckets = [...ledger.sealed.values()]
    if (ledger.open.size > 0) throw new Error('a bucket was left unsealed')
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
        if (thousandths > 3_600_000) throw new Error('a bucket has more than an hour')
        if (unit?.amount !== (hour < priceChange ? '0.001' : '0.002'))
          throw new Error('the price is not valid in this hour')
      }
      const total = [...reported]
        .filter(([event]) => event.startsWith(`${organization}:gpu_instance_seconds.${type}.`))
        .reduce((sum, [, quantity]) => sum + quantity, 0)
      // Each price is reported in whole units.
      const ofPrice = (isAfter: boolean) =>
        ofType
          .filter(({ hour }) => hour >= priceChange === isAfter)
          .reduce((sum, { thousandths }) => sum + thousandths, 0)
      expect(total).toBe(Math.floor(ofPrice(false) / 1000) + Math.floor(ofPrice(true) / 1000))
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

/** Tokens cost what their endpoint charged in their hour, and nothing in the hours of the price list. */
function checkTokenPrices({ model }: Story): void {
  for (const { sealed } of model.organizations.values()) {
    for (const { meter, deploymentId, hour, lateFor, price } of sealed.values()) {
      if (meter === 'gpu_instance_seconds') continue
      const own = model.tokenPricesOf(Number(deploymentId), lateFor ?? hour)
      const perMillion = meter === 'inference_input_tokens' ? own?.input : own?.output
      expect(Number(price.unit!.amount)).toBeCloseTo(Number(perMillion ?? 0) / 1e6, 18)
      expect(price.serviceKey).toBe(own === null ? 'inference' : 'endpoint')
    }
  }
}

test(
  'billed seconds are the seconds from the provider’s start to the release, wherever a process crashes',
  () => {
    fc.assert(
      fc.property(honestEvents, (events) => {
        const story = playAndReport(events)
        for (const { ran, from, given, to, confirmedAt } of story.deployments) {
          // The times of accurate clocks are never adjusted.
          if (ran) expect([from, to]).toEqual([given, confirmedAt])
        }
        checkBilled(story)
        checkTokenPrices(story)
      }),
      { numRuns: runs },
    )
  },
  limit,
)

test(
  'with stepping clocks, seconds are billed once, no span is negative, and no sealed hour changes',
  () => {
    fc.assert(
      fc.property(steppingEvents, (events) => checkBilled(playAndReport(events))),
      { numRuns: runs },
    )
  },
  limit,
)
