import type { EngineSpec } from '../../../ports/model-runtime.ts'

/** The names that an engine accepts for its model, that of its responses first. */
export function listModelNames({
  servedModelName,
  modelUid,
}: Pick<EngineSpec, 'servedModelName' | 'modelUid'>): string[] {
  return [...new Set([servedModelName, modelUid])]
}
