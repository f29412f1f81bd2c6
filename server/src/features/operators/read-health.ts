import type { Config } from '../../config/config.ts'
import type { Services } from '../../services.ts'
import { askTargets } from './ask-targets.ts'
import type { AskedTarget } from './ask-targets.ts'
import { readOperations } from './operations-metrics.ts'
import type { OperationsRow } from './operations-metrics.ts'

/** A server on the network, and since when this process knows its state. */
export interface KnownTarget extends AskedTarget {
  since: Date
}

/** The state of the work in the background, and of what Berth depends on. */
export interface Health {
  operations: OperationsRow
  anomalies: { kind: string; organizationId: number | null; openedAt: Date }[]
  targets: KnownTarget[]
}

const mostAnomalies = 100

export async function readHealth({ db }: Pick<Services, 'db'>, targets: TargetWatch): Promise<Health> {
  const [operations, anomalies, asked] = await Promise.all([
    readOperations(db),
    db
      .selectFrom('usage_anomalies')
      .select(['kind', 'organization_id as organizationId', 'opened_at as openedAt'])
      .where('closed_at', 'is', null)
      .orderBy('opened_at')
      .limit(mostAnomalies)
      .execute(),
    targets.ask(),
  ])
  return { operations, anomalies, targets: asked }
}

/** Answers of the servers on the network are this old at most. */
const freshMilliseconds = 30_000

/** Asks the servers on the network again after a while, and remembers since when each has its state. */
export class TargetWatch {
  readonly #deps: { config: Config; clock: () => Date }
  #asking: Promise<KnownTarget[]> | null = null
  #askedAt = -Infinity
  #known = new Map<string, KnownTarget>()

  constructor(deps: { config: Config; clock: () => Date }) {
    this.#deps = deps
  }

  /** All at once, however many callers ask. */
  ask(): Promise<KnownTarget[]> {
    if (this.#asking === null || performance.now() - this.#askedAt > freshMilliseconds) {
      this.#askedAt = performance.now()
      this.#asking = this.#ask()
    }
    return this.#asking
  }

  async #ask(): Promise<KnownTarget[]> {
    const asked = await askTargets(this.#deps.config)
    const now = this.#deps.clock()
    const known = asked.map((target) => {
      const before = this.#known.get(target.subject)
      return { ...target, since: before?.isReachable === target.isReachable ? before.since : now }
    })
    this.#known = new Map(known.map((target) => [target.subject, target]))
    return known
  }
}
