import { Exact } from '../../src/base/decimal.ts'
import { addHours, floorHour } from '../../src/features/metering/hours.ts'
import {
  planSettlement,
  planUsageEvents,
  toSpanEnd,
  toSpanStart,
} from '../../src/features/metering/ledger.ts'
import type { InstanceSpan, OpenLedger, UsageBucket } from '../../src/features/metering/ledger.ts'
import { createPriceFinder } from '../../src/features/metering/settle.ts'
import type { Price } from '../../src/base/price.ts'

/** One database transaction, recorded so that a test can replay it against a real database. */
export type Write =
  | { kind: 'request'; deployment: number; organization: number; at: Date }
  | { kind: 'provisioning'; deployment: number; at: Date }
  | { kind: 'open'; deployment: number; reported: Date; now: Date }
  | { kind: 'confirm'; deployment: number; now: Date }
  | { kind: 'close'; deployment: number; now: Date }
  | { kind: 'end'; deployment: number; at: Date }
  | { kind: 'tokens'; deployment: number; input: number; output: number; now: Date }
  | { kind: 'price'; deployment: number; prices: TokenPrices | null; now: Date }
  | { kind: 'settle'; organization: number; now: Date }

/** What a million tokens cost. */
export interface TokenPrices {
  input: string
  output: string
}

/** From this time on, until the next one; null if the price list applies. */
interface Tariff {
  from: Date
  prices: TokenPrices | null
}

export interface ModelSpan extends Omit<InstanceSpan, 'deploymentId'> {
  deployment: number
  confirmed: boolean
}

export interface ModelOrganization {
  sealedThrough: Date
  spans: ModelSpan[]
  /** By deployment and hour */
  tokens: Map<string, { deployment: number; hour: Date; lateFor: Date | null; input: number; output: number }>
  open: Map<string, UsageBucket>
  sealed: Map<string, UsageBucket>
}

/** An in-memory model of the ledger tables that uses the production arithmetic. */
export function createLedgerModel(prices: readonly Price[]) {
  const organizations = new Map<number, ModelOrganization>()
  const provisioning = new Map<number, Date>()
  const deployments = new Map<number, { organization: number; requestedAt: Date; type: string }>()
  /** By deployment on an endpoint, in their order */
  const tariffs = new Map<number, Tariff[]>()
  const writes: Write[] = []

  const ledgerOf = (deployment: number) => organizations.get(deployments.get(deployment)!.organization)!
  const openSpanOf = (deployment: number) =>
    ledgerOf(deployment).spans.find((span) => span.deployment === deployment && span.endedAt === null)

  function apply(write: Write): void {
    if (write.kind === 'settle' && !organizations.has(write.organization)) return
    writes.push(write)
    switch (write.kind) {
      case 'request': {
        const { deployment, organization, at } = write
        deployments.set(deployment, { organization, requestedAt: at, type: instanceTypeOf(deployment) })
        if (!organizations.has(organization)) organizations.set(organization, emptyLedger())
        return
      }
      case 'provisioning':
        provisioning.set(write.deployment, write.at)
        return
      case 'open': {
        provisioning.delete(write.deployment)
        if (openSpanOf(write.deployment) !== undefined) return
        const { requestedAt, type } = deployments.get(write.deployment)!
        const { sealedThrough, spans } = ledgerOf(write.deployment)
        const startedAt = toSpanStart(write.reported, { requestedAt, now: write.now, sealedThrough })
        spans.push({
          deployment: write.deployment,
          instanceType: type,
          region: 'test',
          startedAt,
          endedAt: null,
          confirmed: false,
        })
        return
      }
      case 'confirm': {
        const span = openSpanOf(write.deployment)
        if (span !== undefined) span.confirmed = true
        return
      }
      case 'close': {
        const span = openSpanOf(write.deployment)
        if (span !== undefined) {
          span.endedAt = toSpanEnd(write.now, span.startedAt, ledgerOf(write.deployment).sealedThrough)
        }
        return
      }
      case 'end':
        provisioning.delete(write.deployment)
        return
      case 'tokens': {
        const { sealedThrough, tokens } = ledgerOf(write.deployment)
        const used = floorHour(write.now)
        const lateFor = used < sealedThrough ? used : null
        const hour = lateFor === null ? used : sealedThrough
        const key = `${write.deployment} ${hour.getTime()} ${lateFor?.getTime()}`
        const row = tokens.get(key) ?? { deployment: write.deployment, hour, lateFor, input: 0, output: 0 }
        tokens.set(key, { ...row, input: row.input + write.input, output: row.output + write.output })
        return
      }
      case 'price': {
        const own = tariffs.get(write.deployment) ?? []
        const current = own.findLast(({ from }) => from <= write.now)
        const hour = floorHour(write.now)
        const from = current?.prices == null ? hour : addHours(hour, 1)
        const others = own.filter((tariff) => tariff.from.getTime() !== from.getTime())
        tariffs.set(
          write.deployment,
          [...others, { from, prices: write.prices }].toSorted(
            (one, other) => one.from.getTime() - other.from.getTime(),
          ),
        )
        return
      }
      case 'settle':
        settle(organizations.get(write.organization)!, write)
    }
  }

  function settle(ledger: ModelOrganization, write: { organization: number; now: Date }): void {
    const plan = planSettlement(
      toOpenLedger(write.organization, ledger),
      write.now,
      createPriceFinder(prices),
    )
    ledger.open = new Map()
    for (const bucket of plan.buckets) {
      const key = keyOf(bucket)
      if (ledger.sealed.has(key)) throw new Error(`${key} is sealed and would be overwritten`)
      if (bucket.hour < plan.sealedThrough) ledger.sealed.set(key, bucket)
      else ledger.open.set(key, bucket)
    }
    if (plan.sealedThrough < ledger.sealedThrough) throw new Error('the watermark moved back')
    ledger.sealedThrough = plan.sealedThrough
  }

  function toOpenLedger(organization: number, ledger: ModelOrganization): OpenLedger {
    const { sealedThrough, spans, tokens } = ledger
    const isOpen = ({ endedAt }: ModelSpan) => endedAt === null || endedAt > sealedThrough
    const undecided = [
      ...spans.filter((span) => !span.confirmed && span.endedAt === null).map((span) => span.startedAt),
      ...[...provisioning].flatMap(([id, at]) =>
        deployments.get(id)!.organization === organization ? [at] : [],
      ),
    ]
    return {
      sealedThrough,
      chargedSince: null,
      spans: spans
        .filter((span) => span.confirmed && isOpen(span))
        .map((span) => ({ ...span, deploymentId: String(span.deployment) })),
      tokens: [...tokens.values()]
        .filter(({ hour }) => hour >= sealedThrough)
        .map(({ deployment, hour, lateFor, input, output }) => ({
          deploymentId: String(deployment),
          modelName: 'model',
          hour,
          beforeCharging: false,
          lateFor,
          inputTokens: input,
          outputTokens: output,
        })),
      tariffs: new Map(
        [...tariffs].map(([deployment, own]) => [
          String(deployment),
          { endpointId: endpointOf(deployment), prices: own.flatMap(toPrices(endpointOf(deployment))) },
        ]),
      ),
      undecidedSince:
        undecided.length === 0 ? null : new Date(Math.min(...undecided.map((at) => at.getTime()))),
    }
  }

  /** What a million tokens of a deployment cost in an hour; null if the price list applies. */
  function tokenPricesOf(deployment: number, hour: Date): TokenPrices | null {
    return tariffs.get(deployment)?.findLast(({ from }) => from <= hour)?.prices ?? null
  }

  return { apply, organizations, writes, tokenPricesOf }
}

export type LedgerModel = ReturnType<typeof createLedgerModel>

export function instanceTypeOf(deployment: number): string {
  return deployment % 2 === 0 ? 'even' : 'odd'
}

/** Whether a deployment uses an endpoint. */
export function isOnEndpoint(deployment: number): boolean {
  return deployment % 3 === 0
}

/** The endpoint of a deployment that uses one. */
export function endpointOf(deployment: number): string {
  return `endpoint-${deployment}`
}

function toPrices(endpoint: string) {
  return ({ from, prices }: Tariff, index: number, all: readonly Tariff[]): Price[] => {
    if (prices === null) return []
    const toPrice = (meter: Price['meter'], amount: string): Price => ({
      meter,
      dimensions: { endpoint },
      displayName: meter,
      serviceKey: 'endpoint',
      unitAmount: new Exact(amount).dividedBy(1e6).toFixed(),
      currency: 'usd',
      validFrom: from,
      validUntil: all[index + 1]?.from ?? null,
    })
    return [
      toPrice('inference_input_tokens', prices.input),
      toPrice('inference_output_tokens', prices.output),
    ]
  }
}

export function keyOf({ deploymentId, meter, hour, lateFor, dimensions }: UsageBucket): string {
  return JSON.stringify([deploymentId, meter, hour.getTime(), lateFor, dimensions])
}

/** The meter events of an organization's sealed instance usage. */
export function listModelEvents({ sealed }: ModelOrganization) {
  const byPrice = new Map<string, Map<number, number>>()
  for (const { meter, price, hour, thousandths } of sealed.values()) {
    if (meter !== 'gpu_instance_seconds') continue
    const hours = byPrice.get(price.priceKey) ?? new Map<number, number>()
    hours.set(hour.getTime(), (hours.get(hour.getTime()) ?? 0) + thousandths)
    byPrice.set(price.priceKey, hours)
  }
  const inOrder = [...byPrice].toSorted(([one], [other]) => (one < other ? -1 : 1))
  return inOrder.flatMap(
    ([priceKey, hours]) =>
      planUsageEvents(
        priceKey,
        [...hours]
          .toSorted(([one], [other]) => one - other)
          .map(([hour, thousandths]) => ({ hour: new Date(hour), thousandths })),
      ).events,
  )
}

function emptyLedger(): ModelOrganization {
  return { sealedThrough: new Date(0), spans: [], tokens: new Map(), open: new Map(), sealed: new Map() }
}
