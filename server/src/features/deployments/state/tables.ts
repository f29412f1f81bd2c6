import type { ColumnType, Generated, GeneratedAlways, JSONColumnType } from 'kysely'
import type { ErrorCode } from '../../../base/error-codes.ts'
import type { FailureCode, FailureStage } from '../../../ports/engine-failures.ts'
import type { RefusedOffer } from '../../placement/offers.ts'
import type { EngineOptions, ModelLora, ModelType } from '../../../ports/model-variant.ts'
import type { InstanceStatus } from './instance-lifecycle.ts'
import type { EventTransition } from './event-transition.ts'
import type { SettingsChange } from './settings-change.ts'
import type { Recovery } from './recovery.ts'
import type { SharedWith } from './shared-with.ts'
import type { DeploymentStatus, WaitingState, DesiredState } from './lifecycle.ts'

declare module '../../../database/tables.ts' {
  interface Tables {
    deployments: DeploymentsTable
    instances: InstancesTable
    instance_loads: InstanceLoadsTable
    deployment_events: DeploymentEventsTable
    failure_logs: FailureLogsTable
    deployment_counts: DeploymentCountsTable
  }
}

/** The program that serves an instance. */
export interface ServingEngine {
  name: string
  version: string | null
}

/** A change of the policy at the times of a cron pattern. It is stored as the API has it. */
export interface PolicySchedule {
  cron: string
  time_zone: string
  min_instances: number
}

/** Why an instance was not started. The message is a sentence. */
export interface Refusal {
  code: FailureCode | ErrorCode
  message: string
}

/** The columns of a deployment that decide how its engine starts */
export interface EngineSettings {
  min_context_tokens: number | null
  min_parallel_sequences: number | null
  adapters: ModelLora[]
  engine_options: EngineOptions
  engine_version: string | null
}

/** Whose requests share the cached beginnings of prompts */
export const cacheScopes = ['member', 'organization'] as const
export type CacheScope = (typeof cacheScopes)[number]

export interface DeploymentsTable {
  id: string
  user_id: number
  organization_id: number
  shared_with: ColumnType<SharedWith | null, string | null | undefined, string | null>
  alias: string | null
  /** Only with an alias */
  alias_order: number | null
  model_name: string
  model_format: string
  model_size_in_billions: number
  quantization: string
  inference_model_uid: string
  /** JSON of `serializeVariant`, read by `parseStoredVariant` */
  variant: ColumnType<unknown, string, never>
  /** A member of `variant` */
  model_type: GeneratedAlways<ModelType>
  variant_reason: string | null
  adapters: ColumnType<ModelLora[], string | undefined, string>
  engine_options: ColumnType<EngineOptions, string | undefined, string>
  engine_version: string | null
  managed_by: string | null
  /** Only with `managed_by` */
  managed_name: string | null
  served_settings: ColumnType<EngineSettings | null, string | null | undefined, string | null>
  desired_state: Generated<DesiredState>
  status: DeploymentStatus
  waiting_for: WaitingState | null
  status_message: string | null
  progress: number | null
  planned_price_per_hour: string | null
  planned_instance_type: string | null
  planned_reason: string | null
  min_context_tokens: number | null
  min_parallel_sequences: number | null
  requested_instance_type: string | null
  min_instances: Generated<number>
  max_instances: Generated<number>
  idle_minutes: number | null
  yields: Generated<boolean>
  cache_scope: Generated<CacheScope>
  target_concurrency: number | null
  schedules: ColumnType<PolicySchedule[], string | undefined, string>
  woken_at: Date | null
  desired_instances: Generated<number>
  refusal: ColumnType<Refusal | null, string | null | undefined, string | null>
  refusals: Generated<number>
  refused_at: Date | null
  ran_at: Date | null
  recovery: ColumnType<Recovery | null, string | null | undefined, string | null>
  failure_stage: FailureStage | null
  failure_reason: string | null
  created_at: Date
  updated_at: Date
  status_changed_at: Date
  terminated_at: Date | null
  reconcile_at: Date | null
  leased_by: string | null
  leased_until: Date | null
  lease_number: Generated<number>
}

export interface InstancesTable {
  id: string
  deployment_id: string
  status: InstanceStatus
  waiting_for: WaitingState | null
  status_message: string | null
  progress: number | null
  instance_type: string | null
  selection_reason: string | null
  offers_refused: ColumnType<RefusedOffer[], string | undefined, string>
  gpu_count: number | null
  memory_bytes: number | null
  context_tokens: number | null
  parallel_sequences: number | null
  adapters: ColumnType<ModelLora[], string | undefined, string>
  engine_settings: ColumnType<EngineSettings | null, string | null, string | null>
  served_model_name: string
  runtime: string | null
  region: string | null
  cluster_id: string | null
  instance_id: string | null
  gpu_allocation_id: string | null
  started_at: Date | null
  ready_at: Date | null
  lost_at: Date | null
  unreachable_since: Date | null
  engine_url: string | null
  engine: ColumnType<ServingEngine | null, string | null, string | null>
  engine_restarted_at: Date | null
  created_at: Date
  updated_at: Date
  status_changed_at: Date
  due_at: Date | null
  hardware_asked_at: Date | null
  hardware_refused_at: Date | null
}

export interface InstanceLoadsTable {
  instance_id: string
  process_id: string
  in_flight: number
  used_at: Date
  reported_at: Date
}

export interface DeploymentEventsTable {
  id: Generated<number>
  deployment_id: string
  at: Date
  status: DeploymentStatus
  stage: string | null
  message: string
  instance_type: string | null
  transition: ColumnType<EventTransition | null, string | null | undefined, never>
  change: ColumnType<SettingsChange | null, string | null | undefined, never>
}

/** The last lines of engines whose instances were released */
export interface FailureLogsTable {
  instance_id: string
  lines: JSONColumnType<{ at: string; line: string }[]>
}

export interface DeploymentCountsTable {
  user_id: number
  organization_id: number
  total: number
}
