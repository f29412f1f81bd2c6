import type { Caller } from './caller.ts'
import type { AnswerTranslation, Protocol } from '../protocols/protocol.ts'
import type { InferenceRequest } from './request-body.ts'
import type { EngineTarget } from '../targets/targets.ts'

/** A request that has arrived, and the deployments that can serve it. */
export interface Arrival {
  readonly protocol: Protocol
  readonly caller: Caller
  readonly request: InferenceRequest
  /** null if the engine's answer has the format of the route */
  readonly answers: AnswerTranslation | null
  readonly targets: readonly EngineTarget[]
  /** On the clock of `performance.now()` */
  readonly receivedAt: number
}
