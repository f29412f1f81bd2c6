import type { RuntimeEngine } from '../../../ports/runtime-engine.ts'
import type { Services } from '../../../services.ts'
import { listEnginesFor } from '../../catalog/engine-choice.ts'
import { listLiveInstances } from './instance-store.ts'
import type { Deployment } from './store.ts'

/** The engines of a deployment. `isServing`: those of its instances; else those that it may get. */
export async function listDeploymentEngines(
  { db, runtimes }: Pick<Services, 'db' | 'runtimes'>,
  { id, model_format: format }: Pick<Deployment, 'id' | 'model_format'>,
): Promise<{ engines: RuntimeEngine[]; isServing: boolean }> {
  const instances = (await listLiveInstances(db, [id])).get(id) ?? []
  const names = new Set(instances.map(({ runtime }) => runtime))
  const engines = [...names].flatMap((name) => runtimes.find(name)?.engines ?? [])
  const isServing = engines.length > 0
  return { engines: listEnginesFor({ format }, isServing ? engines : runtimes.engines), isServing }
}
