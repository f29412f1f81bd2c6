/** How engines fail, and what their error responses mean. */

/** The values of `failure_stage` in the API. */
export type FailureStage =
  | 'instance_selection'
  | 'provisioning'
  | 'engine_startup'
  | 'model_download'
  | 'model_launch'
  | 'health_check'
  | 'runtime'
  | 'termination'

export type FailureCode =
  | 'no_feasible_instance'
  | 'no_capacity'
  | 'in_use'
  | 'quota_exceeded'
  | 'provider_error'
  | 'provision_timeout'
  | 'engine_unreachable'
  | 'model_not_found'
  | 'download_failed'
  | 'disk_full'
  | 'out_of_memory'
  | 'launch_rejected'
  | 'readiness_timeout'
  | 'instance_lost'
  | 'engine_crashed'
  | 'cleanup_failed'
  | 'budget_exhausted'

/** Why an engine failed. `message` is one sentence for a person. */
export interface EngineFailure {
  stage: FailureStage
  code: FailureCode
  message: string
}

/** An engine's response with an error status. */
export interface EngineErrorResponse {
  status: number
  body: string
  /** The model's name in the request */
  servedModelName: string
}

/** The length of a request that doesn't fit in the engine's context. */
export interface ContextOverflow {
  contextTokens: number
  /** null if the engine doesn't say */
  requestTokens: number | null
}

/** The engine has lost the model or has no room, the request is too long, or `message` for the caller. */
export type EngineError =
  | { isModelLost: true }
  | { isModelLost: false; overflow: ContextOverflow }
  | {
      isModelLost: false
      overflow?: undefined
      isOverloaded?: boolean | undefined
      /** The request is invalid, despite its status */
      isRefused?: boolean | undefined
      message: string
    }
