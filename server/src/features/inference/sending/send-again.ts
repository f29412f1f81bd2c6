import { settlesWithin } from '../../../database/settles-within.ts'
import type { Services } from '../../../services.ts'
import type { Arrival } from '../arrival/arrival.ts'
import type { Caller } from '../arrival/caller.ts'
import { AsleepError } from '../targets/find-targets.ts'
import { HeldCall } from '../waiting/held-call.ts'
import type { Protocol } from '../protocols/protocol.ts'
import { readTargets } from '../targets/targets.ts'
import type { EngineTarget, TargetDeps } from '../targets/targets.ts'
import type { Waking } from '../waiting/waking.ts'

interface Deps extends Omit<TargetDeps, 'inference'>, Pick<Services, 'config'> {
  inference: { waking: Waking }
  /** Returns the caller of a stream that waits for this model, whose connection stays open. */
  holdStream(caller: Caller, protocol: Protocol, model: string): Caller
}

/** A request that an engine did not begin to answer. */
export interface UnansweredRequest {
  arrival: Arrival
  readonly targets: readonly EngineTarget[]
  /** Ids of instances that it does not go to again */
  readonly refusedBy: ReadonlySet<string>
  /** Queues the request for one of these targets. */
  resume(targets: readonly EngineTarget[]): void
  onBroken(error: unknown): void
  /** Ends the request with an error that no engine caused. */
  reject(error: unknown): void
}

/** An engine that failed while the database is silent gets its caller a 502 after this time. */
const patienceMilliseconds = 2_000

/**
 * Sends a request to another engine of its deployments, or wakes one that fell asleep. A process that was
 * busy learns late that an instance was released or started, so the database decides. Ends the request with
 * `error` if the deployments have no other engine: its own has failed.
 */
export function sendAgain(deps: Deps, unanswered: UnansweredRequest, error: unknown): void {
  const { protocol, request } = unanswered.arrival
  let { caller } = unanswered.arrival
  if (request.streams) {
    caller = deps.holdStream(caller, protocol, request.model)
    unanswered.arrival = { ...unanswered.arrival, caller }
  }
  const meant = new Set(unanswered.targets.map(({ deploymentId }) => deploymentId))
  const call = new HeldCall(deps, caller, {
    route: protocol.path,
    async findTargets() {
      const reading = readTargets(deps, caller.request.viewer, request.model, meant)
      const found = (await settlesWithin(reading, patienceMilliseconds)) ? await orAsleep(reading) : []
      const others = found.filter(({ instanceId }) => !unanswered.refusedBy.has(instanceId))
      if (others.length === 0) throw error
      return others
    },
    start: (targets) => unanswered.resume(targets),
    fail: (reason) => (reason === error ? unanswered.onBroken(error) : unanswered.reject(reason)),
  })
  call.proceed()
}

/** The targets; none if there is another reason than sleep. */
function orAsleep(reading: Promise<readonly EngineTarget[]>): Promise<readonly EngineTarget[]> {
  return reading.catch((error: unknown) => {
    if (error instanceof AsleepError) throw error
    return []
  })
}
