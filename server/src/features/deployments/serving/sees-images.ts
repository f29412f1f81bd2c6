import type { RuntimeEngine } from '../../../ports/runtime-engine.ts'
import { acceptsImages } from '../../catalog/engine-choice.ts'
import type { ServingDeployment } from './serving-deployments.ts'

/** False if this engine of a deployment surely refuses images. */
export function seesImages(
  engine: RuntimeEngine | undefined,
  { engineProfiles }: Pick<ServingDeployment, 'engineProfiles'>,
): boolean {
  return engine === undefined || acceptsImages(engine, engineProfiles)
}
