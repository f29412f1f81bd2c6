import { invalidField } from '../../../base/errors.ts'
import type { RuntimeEngine } from '../../../ports/runtime-engine.ts'
import type { Services } from '../../../services.ts'
import { requireEngineOptions } from '../../catalog/engine-options.ts'
import { listDeploymentEngines } from '../state/deployment-engines.ts'
import type { Deployment } from '../state/store.ts'
import type { ChangedColumns } from './deployment-update.ts'

/** Throws a 422 if the engines of a deployment can't do what it is to ask of them. */
export async function requireEngine(
  deps: Pick<Services, 'db' | 'runtimes'>,
  deployment: Deployment,
  columns: ChangedColumns,
): Promise<void> {
  const { engine_options: options, engine_version: version, cache_scope: scope } = columns
  if (options === undefined && version == null && scope !== 'member') return
  const { engines, isServing } = await listDeploymentEngines(deps, deployment)
  const { model_format: format } = deployment
  if (options !== undefined) requireEngineOptions({ format }, engines, options)
  if (version != null) requireVersion(engines, version)
  if (scope === 'member') requireSeparableCache(engines, isServing, deployment)
}

/** Throws a 422 for a version of the engine that instances can't have. */
function requireVersion(engines: readonly RuntimeEngine[], version: string): void {
  if (engines.some(({ versions = [] }) => versions.includes(version))) return
  const { title = 'The engine', versions = [] } = engines[0] ?? {}
  const message =
    versions.length === 0
      ? `${title} has no versions to choose from.`
      : `${title} ${version} is not installed. The versions are ${versions.join(', ')}.`
  throw invalidField('engine_version', message, 'custom')
}

/** Throws a 422 if the engine can't keep the cached prompts of people apart. */
function requireSeparableCache(
  engines: readonly RuntimeEngine[],
  isServing: boolean,
  { model_type: type }: Deployment,
): void {
  const unable = engines.find(({ cacheSeparation }) => !cacheSeparation)
  const able = engines.some(({ cacheSeparation }) => cacheSeparation)
  if (type === 'LLM' && able && (unable === undefined || !isServing)) return
  const { title = 'The engine' } = unable ?? engines[0] ?? {}
  const message = `${title} can’t separate the cached prompts of this model by member.`
  throw invalidField('cache_scope', message, 'custom')
}
