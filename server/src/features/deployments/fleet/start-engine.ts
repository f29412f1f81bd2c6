import type { EngineObservation } from '../../../ports/model-runtime.ts'
import { findEngine } from '../../catalog/engine-choice.ts'
import { parseStoredVariant } from '../../catalog/stored-model.ts'
import { readEngineSpec } from '../serving/engine-spec.ts'
import type { ServingEngine } from '../state/tables.ts'
import type { StepContext } from './step.ts'

/** Starts the engine if it is missing, and returns its state. */
export async function startEngine({ deployment, instance, deps }: StepContext): Promise<EngineObservation> {
  return deps.runtime.ensureEngine(await readEngineSpec(deps, deployment, instance))
}

/** The column `engine` for an engine that has become ready; null if the runtime doesn't say which it is. */
export function describeEngine({ deployment, deps: { runtime } }: StepContext): ServingEngine | null {
  const engine = findEngine(parseStoredVariant(deployment), runtime.engines)
  if (engine === undefined || engine.name === null) return null
  return { name: engine.name, version: engine.version }
}
