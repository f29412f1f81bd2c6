import { ApplicationError } from '../../base/errors.ts'
import { nameFormat } from '../../base/format-names.ts'
import { ModelHubError } from '../../ports/model-hub.ts'
import type { HubRepository } from '../../ports/model-hub.ts'
import type { RuntimeEngine } from '../../ports/model-runtime.ts'
import type { Services } from '../../services.ts'
import { findEngine } from '../catalog/engine-choice.ts'
import { placeVariants } from '../placement/plan.ts'
import type { SelectionResult } from '../placement/instance-selection.ts'
import { findHubToken } from './hub-tokens.ts'
import { readRepository } from './read-repository.ts'
import type { RepositoryContents } from './read-repository.ts'
import type { RepositoryVariant } from './repository-reader.ts'
import { fromRepository, toModelVariant } from './to-model.ts'
import type { VariantOrigin } from './to-model.ts'

export type InspectDeps = Pick<
  Services,
  'db' | 'hub' | 'runtime' | 'clock' | 'config' | 'log' | 'prices' | 'secretKey'
>

export interface RepositoryRequest {
  name: string
  revision: string
  /** Used instead of the organization's token; undefined for that */
  token: string | undefined
}

/** A variant with the engine that would serve it, and the instance that it would get. */
export interface InspectedVariant {
  variant: RepositoryVariant
  engine: RuntimeEngine | null
  /** Why no engine of this server can load the variant, as a clause; null if one can */
  obstacle: string | null
  /** null if no engine can load the variant */
  placement: SelectionResult | null
}

/** What a repository or an uploaded file would give. */
export interface Inspection {
  /** null for an uploaded file */
  repository: HubRepository | null
  variants: InspectedVariant[]
}

/** Reads a repository and plans its variants, without storing anything. Throws the errors of `readContents` and `runtime_unavailable`. */
export async function inspectRepository(
  deps: InspectDeps,
  organizationId: number,
  request: RepositoryRequest,
): Promise<Inspection> {
  const token = request.token ?? (await findHubToken(deps, organizationId))
  const { repository, variants } = await readContents(deps, { ...request, token })
  const origin = fromRepository(repository, 'organization')
  return { repository, variants: await planVariants(deps, repository.name, variants, origin) }
}

/** Finds the engine and the instance that each variant would get. Throws `runtime_unavailable`. */
export async function planVariants(
  deps: InspectDeps,
  modelName: string,
  variants: readonly RepositoryVariant[],
  origin: VariantOrigin,
): Promise<InspectedVariant[]> {
  const { engines } = deps.runtime
  const loadable = variants.filter((variant) => findObstacle(variant, engines) === null)
  const results = await placeVariants(
    deps,
    loadable.map((variant) => toModelVariant(modelName, variant, engines, origin)),
  )
  const placements = new Map(loadable.map((variant, index) => [variant, results[index]!]))
  return variants.map((variant) => ({
    variant,
    engine: findEngine(variant, engines) ?? null,
    obstacle: findObstacle(variant, engines),
    placement: placements.get(variant) ?? null,
  }))
}

/** Throws `repository_not_found`, `repository_gated`, `no_runnable_weights` and `hub_unreachable`. */
export async function readContents(
  { hub }: Pick<Services, 'hub'>,
  { name, revision, token }: Omit<RepositoryRequest, 'token'> & { token: string | null },
): Promise<RepositoryContents> {
  try {
    return await readRepository(hub.open(token), name, revision)
  } catch (error) {
    if (error instanceof ModelHubError) throw toApplicationError(error)
    throw error
  }
}

function toApplicationError({ failure, message }: ModelHubError): ApplicationError {
  const codes = {
    not_found: 'repository_not_found',
    gated: 'repository_gated',
    unreachable: 'hub_unreachable',
    invalid: 'no_runnable_weights',
  } as const
  return new ApplicationError(codes[failure], message)
}

/** Why no engine of this server can load a variant, as a clause; null if one can. */
export function findObstacle(variant: RepositoryVariant, engines: readonly RuntimeEngine[]): string | null {
  if (variant.reason !== null) return variant.reason
  const { format, architectureName: name } = variant
  const engine = findEngine(variant, engines)
  if (engine === undefined) return `No engine of this server loads ${nameFormat(format)}`
  if (!variant.needsArchitecture || engine.architectures === undefined) return null
  if (name === null) return 'The files name no architecture'
  if (engine.architectures.includes(name)) return null
  return `${engine.title} does not have the architecture ${JSON.stringify(name.slice(0, 100))}`
}
