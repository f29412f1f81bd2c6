import { ApplicationError } from '../../../base/errors.ts'
import { findStanding, toRefusalError } from '../../../base/standing.ts'
import type { Viewer } from '../../../base/viewer.ts'
import type { DatabaseTransaction } from '../../../database/tables.ts'
import type { ModelVariant } from '../../../ports/model-variant.ts'
import { holdEndpoint } from '../../endpoints/hold-endpoint.ts'

/** Settings of what Berth starts */
const settingsOfEngines = [
  'min_instances',
  'max_instances',
  'idle_minutes',
  'yields',
  'target_concurrency',
  'schedules',
  'min_parallel_sequences',
  'cache_scope',
  'adapters',
  'engine_options',
  'engine_version',
] as const

/** Throws `not_for_endpoints` for settings of what Berth starts. */
export function refuseEngineSettings(modelName: string, given: object): void {
  const names = settingsOfEngines.filter((name) => name in given)
  if (names.length === 0) return
  const message = `${modelName} is a model of an endpoint, which Berth does not run. It takes no ${names.join(', ')}.`
  throw new ApplicationError('not_for_endpoints', message)
}

/**
 * Keeps the endpoint of a variant during the transaction. Throws `model_not_deployable` if it was deleted,
 * and `external_not_allowed`.
 */
export async function requireEndpoint(
  transaction: DatabaseTransaction,
  viewer: Viewer,
  { modelName, weights }: ModelVariant,
): Promise<void> {
  if (weights.kind !== 'endpoint') return
  const { organizationId } = viewer
  const standing = findStanding(viewer, organizationId)
  if (standing?.forbidsExternal === true) throw toRefusalError('external_not_allowed', standing)
  if (await holdEndpoint(transaction, organizationId, weights.endpoint)) return
  throw new ApplicationError('model_not_deployable', `The endpoint of ${modelName} was deleted.`)
}
