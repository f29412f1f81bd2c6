import { ApplicationError } from '../../base/errors.ts'
import { nameFormat } from '../../base/format-names.ts'
import type { Services } from '../../services.ts'
import type { CatalogModel } from '../catalog/model.ts'
import { findObstacle, readContents } from './inspect.ts'
import { findLoraContents, findBase } from './find-base.ts'
import type { LoraBase } from './find-base.ts'
import type { BaseDeps } from './read-base-shapes.ts'
import { requireSafeTemplates } from './require-safe-templates.ts'
import type { RepositoryVariant } from './repository-reader.ts'
import { fromRepository, toOwnModel, toRepositoryHead } from './to-model.ts'

export interface ModelRequest {
  /** `owner/name` of the repository */
  name: string
  revision: string
  /** Reads the repository; null for none */
  token: string | null
  modelName: string
  /** Name or id of the base model of a LoRA; undefined for the one that its files name */
  baseModel: string | undefined
}

/** Builds a repository's model, of runnable variants. Throws like `readContents`, `base_model_not_found`. */
export async function buildModel(
  deps: Pick<Services, 'runtimes'> & BaseDeps,
  organizationId: number | null,
  request: ModelRequest,
): Promise<CatalogModel> {
  const { engines } = deps.runtimes
  const { repository, variants } = await readContents(deps, request)
  const obstacles = variants.map((variant) => ({ variant, obstacle: findObstacle(variant, engines) }))
  const loadable = obstacles.flatMap(({ variant, obstacle }) => (obstacle === null ? [variant] : []))
  if (loadable.length === 0) throw toNoWeights(repository.name, obstacles)
  await requireSafeTemplates(deps.runtimes, loadable)
  const base = await requireBase(deps, organizationId, loadable, request.baseModel)
  const origin = fromRepository(repository, organizationId === null ? 'installation' : 'organization')
  const head = toRepositoryHead(request.modelName, repository, loadable)
  return toOwnModel(head, loadable, engines, origin, base)
}

/** The base model of variants that are a LoRA, otherwise null. Throws `base_model_not_found`. */
export async function requireBase(
  deps: BaseDeps,
  organizationId: number | null,
  variants: readonly RepositoryVariant[],
  given: string | undefined,
): Promise<LoraBase | null> {
  const contents = findLoraContents(variants)
  if (contents === null) return null
  const base = await findBase(deps, organizationId, contents, given)
  if (!('reason' in base)) return base
  throw new ApplicationError('base_model_not_found', `${base.reason}.`)
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
