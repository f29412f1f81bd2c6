import type { Services } from '../../services.ts'
import { add, fromThousandths, multiply } from '../../base/decimal.ts'
import { addHours } from './hours.ts'
import { planSettlement } from './ledger.ts'
import type { InstanceSpan, OpenLedger, UsageBucket } from './ledger.ts'
import { createPriceFinder } from './settle.ts'
import { shareSince } from './share-since.ts'
import { loadOpenUsage, sumSealedSpending } from './spending-store.ts'
import type { SpendingScope } from './spending-store.ts'
import { readSnapshot, toPeriodScope } from './summary.ts'
import type { UsagePeriod } from './summary.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'prices'>

/** What a deployment costs. Amounts are decimal strings in the account's currency, not rounded. */
export interface DeploymentSpending {
  organizationId: number
  deploymentId: string
  /** In the period up to now, as in the usage summary */
  spent: string
  /** In the last 24 hours */
  recent: string
  /** Of an instance that does not serve yet: counts as spent as soon as it does */
  pending: string
}

/** Sums each deployment's cost, in its organization's period, from one snapshot of five statements. */
export function sumSpending(
  deps: Deps,
  periods: readonly { organizationId: number; period: UsagePeriod }[],
): Promise<DeploymentSpending[]> {
  const now = deps.clock()
  const scopes = periods.map(({ organizationId, period }) => ({
    organizationId,
    ...toPeriodScope(period),
    dayBefore: addHours(now, -24),
  }))
  return readSnapshot(deps.db, async (db) => {
    const sums = new SpendingSums()
    for (const { organizationId, deploymentId, ...amounts } of await sumSealedSpending(
      db,
      scopes,
      deps.config.billing.currency,
    )) {
      sums.add(organizationId, deploymentId, amounts)
    }
    const open = await loadOpenUsage(
      db,
      scopes.map((scope) => scope.organizationId),
    )
    for (const scope of scopes) {
      const usage = open.get(scope.organizationId)
      if (usage !== undefined) addOpenUsage(deps, sums, scope, usage, now)
    }
    return sums.list()
  })
}

type Amounts = Omit<DeploymentSpending, 'organizationId' | 'deploymentId'>

class SpendingSums {
  readonly #sums = new Map<string, DeploymentSpending>()

  add(organizationId: number, deploymentId: string, amounts: Partial<Amounts>): void {
    const sum = this.#sums.get(deploymentId) ?? {
      organizationId,
      deploymentId,
      spent: '0',
      recent: '0',
      pending: '0',
    }
    for (const [name, amount] of Object.entries(amounts) as [keyof Amounts, string][]) {
      sum[name] = add(sum[name], amount)
    }
    this.#sums.set(deploymentId, sum)
  }

  list(): DeploymentSpending[] {
    return [...this.#sums.values()]
  }
}

/** Adds the usage of hours that are not sealed, up to `now`. */
function addOpenUsage(
  { prices, config }: Deps,
  sums: SpendingSums,
  scope: SpendingScope,
  { ledger, unconfirmed }: { ledger: OpenLedger; unconfirmed: readonly InstanceSpan[] },
  now: Date,
): void {
  const { organizationId } = scope
  const { currency } = config.billing
  const findPrice = createPriceFinder(prices)
  for (const bucket of planSettlement(ledger, now, findPrice).buckets) {
    const amount = toAmount(bucket, currency)
    sums.add(organizationId, bucket.deploymentId, {
      ...(isCounted(bucket, scope) ? { spent: amount } : {}),
      recent: multiply(amount, shareSince(bucket.hour, scope.dayBefore)),
    })
  }
  const starting = { ...ledger, spans: unconfirmed, tokens: [] }
  for (const bucket of planSettlement(starting, now, findPrice).buckets) {
    if (!isCounted(bucket, scope)) continue
    sums.add(organizationId, bucket.deploymentId, { pending: toAmount(bucket, currency) })
  }
}

function toAmount({ thousandths, price: { unit } }: UsageBucket, currency: string): string {
  return unit?.currency === currency ? multiply(fromThousandths(thousandths), unit.amount) : '0'
}

function isCounted({ hour, beforeCharging }: UsageBucket, scope: SpendingScope): boolean {
  return hour >= scope.from && hour < scope.to && !(scope.chargedOnly && beforeCharging)
}
