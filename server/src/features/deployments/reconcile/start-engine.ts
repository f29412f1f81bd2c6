import type { EngineObservation } from '../../../ports/model-runtime.ts'
import { findEngine } from '../../catalog/engine-choice.ts'
import { findDeployableVariant } from '../../catalog/find-variant.ts'
import { toEngineSpec } from '../engine-spec.ts'
import type { Deployment } from '../store.ts'
import { recordChanges } from './step.ts'
import type { ReconcileContext } from './step.ts'

/** Starts the engine if there is none, and returns its state. Returns undefined if another writer changed the deployment first. */
export async function startEngine(context: ReconcileContext): Promise<EngineObservation | undefined> {
  const { deps } = context
  const deployment = await adoptProfile(context)
  return deployment && deps.runtime.ensureEngine(toEngineSpec(deployment, deps.secretKey))
}

/** The column `engine` for an engine that has become ready. Xinference chooses engines itself and doesn't say which. */
export function describeEngine({ deployment, deps: { runtime } }: ReconcileContext): string | null {
  const engine = findEngine(deployment.variant, runtime.engines)
  if (engine === undefined || runtime.name === 'xinference') return null
  return JSON.stringify({ name: engine.name, version: engine.version })
}

/** Deployments from before the catalog described engines take the profile that it has now. */
async function adoptProfile(context: ReconcileContext): Promise<Deployment | undefined> {
  const { deployment, deps } = context
  const { variant } = deployment
  if (variant.engines !== undefined) return deployment
  const current = await findDeployableVariant(deps, variant.modelName, variant)
  // The memory of the instance was chosen without a projector.
  const { llamaCpp, ...others } = current?.engines ?? {}
  const engines = { ...others, llamaCpp: { ...llamaCpp, projector: undefined } }
  return recordChanges(context, { variant: JSON.stringify({ ...variant, engines }) }, null)
}
