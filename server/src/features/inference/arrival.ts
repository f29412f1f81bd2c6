import type { Caller } from './caller.ts'
import type { Protocol } from './protocols/protocol.ts'
import type { InferenceRequest } from './request-body.ts'
import type { EngineTarget } from './targets.ts'

/** A request that has arrived, and the deployments that can serve it. */
export interface Arrival {
  readonly protocol: Protocol
  readonly caller: Caller
  readonly request: InferenceRequest
  readonly targets: readonly EngineTarget[]
  /** On the clock of `performance.now()` */
  readonly receivedAt: number
}
