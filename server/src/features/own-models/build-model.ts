import { v7 as uuidv7 } from 'uuid'
import { ApplicationError } from '../../base/errors.ts'
import { nameFormat } from '../../base/format-names.ts'
import type { Services } from '../../services.ts'
import type { CatalogModel } from '../catalog/model.ts'
import { findObstacle, readContents } from './inspect.ts'
import { toRepositoryModel } from './to-model.ts'
import type { HubAccess } from './to-model.ts'

export interface ModelRequest {
  /** `owner/name` of the repository */
  name: string
  revision: string
  /** Reads the repository; null for none */
  token: string | null
  modelName: string
  access: HubAccess
}

/** Reads a repository and resolves to its model with the variants that an engine can load. Throws like `readContents`. */
export async function buildModel(
  deps: Pick<Services, 'hub' | 'runtime'>,
  request: ModelRequest,
): Promise<CatalogModel> {
  const { engines } = deps.runtime
  const { repository, variants } = await readContents(deps, request)
  const obstacles = variants.map((variant) => ({ variant, obstacle: findObstacle(variant, engines) }))
  const loadable = obstacles.flatMap(({ variant, obstacle }) => (obstacle === null ? [variant] : []))
  if (loadable.length === 0) throw toNoWeights(repository.name, obstacles)
  return toRepositoryModel(uuidv7(), request.modelName, repository, loadable, engines, request.access)
}

/** The name of a model that the request leaves open. */
export function defaultModelName(repository: string): string {
  return repository.split('/')[1]!.toLowerCase()
}

function toNoWeights(
  name: string,
  obstacles: readonly { variant: { format: string; quantization: string }; obstacle: string | null }[],
): ApplicationError {
  const reasons = [
    ...new Set(obstacles.map(({ variant, obstacle }) => `${nameFormat(variant.format)}: ${obstacle}.`)),
  ].slice(0, 10)
  const why = reasons.length === 0 ? 'It has no weights.' : reasons.join(' ')
  const message = `${name} has no weights that an engine of this server loads. ${why}`
  return new ApplicationError('no_runnable_weights', message, { facts: { reasons } })
}
