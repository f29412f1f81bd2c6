import { settlesWithin } from '../../../database/settles-within.ts'
import type { Arrival } from '../arrival/caller.ts'
import type { BrokenBy } from '../counting/finished-exchange.ts'
import { AsleepError } from '../targets/find-targets.ts'
import { readTargets } from '../targets/targets.ts'
import type { EngineTarget, TargetDeps } from '../targets/targets.ts'
import { HeldCall } from '../waiting/held-call.ts'
import type { HeldCallDeps, HeldCallSteps } from '../waiting/held-call.ts'

type Deps = Omit<TargetDeps, 'inference'> & HeldCallDeps

/** A request without the start of an engine's response. */
export interface UnansweredRequest extends Pick<HeldCallSteps, 'hold'> {
  readonly arrival: Arrival
  readonly targets: readonly EngineTarget[]
  /** Ids of instances that it does not go to again */
  readonly refusedBy: ReadonlySet<string>
  /** Queues the request for one of these targets. */
  resume(targets: readonly EngineTarget[]): void
  /** None of its deployments can serve the request. `brokenBy` is null for an error that no engine caused. */
  giveUp(error: unknown, brokenBy: BrokenBy | null): void
}

/** An engine that failed while the database is silent gets its caller a 502 after this time. */
const patienceMilliseconds = 2_000

/**
 * Sends a request to another engine of its deployments, wakes a deployment, or ends with `error`. The
 * database decides, because a busy process learns late of new and released instances.
 */
export function sendAgain(deps: Deps, unanswered: UnansweredRequest, error: unknown): void {
  const { protocol, request, caller } = unanswered.arrival
  const meant = new Set(unanswered.targets.map(({ deploymentId }) => deploymentId))
  const steps: HeldCallSteps = {
    async findTargets() {
      const reading = readTargets(deps, caller.asker, request.model, { after: 0, among: meant })
      const found = (await settlesWithin(reading, patienceMilliseconds)) ? await orAsleep(reading) : []
      const others = found.filter(({ instanceId }) => !unanswered.refusedBy.has(instanceId))
      if (others.length === 0) throw error
      return others
    },
    hold: (held) => unanswered.hold(held),
    start: (targets) => unanswered.resume(targets),
    fail: (reason) => unanswered.giveUp(reason, reason === error ? 'engine' : null),
  }
  new HeldCall(deps, caller, { protocol, request }, steps).proceed()
}

/** The targets; none if there is another reason than sleep. */
function orAsleep(reading: Promise<readonly EngineTarget[]>): Promise<readonly EngineTarget[]> {
  return reading.catch((error: unknown) => {
    if (error instanceof AsleepError) throw error
    return []
  })
}
