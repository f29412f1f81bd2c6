import { ApplicationError } from '../../base/errors.ts'
import { findShortage, overloaded } from '../../base/local-shortage.ts'
import { nameFormat } from '../../base/format-names.ts'
import { ModelHubError } from '../../ports/model-hub.ts'
import type { HubRepository, HubSession } from '../../ports/model-hub.ts'
import type { RuntimeEngine } from '../../ports/runtime-engine.ts'
import { roleCan } from '../../base/roles.ts'
import type { Viewer } from '../../base/viewer.ts'
import type { Services } from '../../services.ts'
import { findRankObstacle, listEnginesFor } from '../catalog/engine-choice.ts'
import { placeVariants } from '../placement/plan.ts'
import type { SelectionResult } from '../placement/instance-selection.ts'
import { refusedFiles, ggufLoraFormat, ggufFormat } from './facts/formats.ts'
import { readGgufFacts } from './facts/gguf-facts.ts'
import { listGgufVariants, unknownQuantization } from './facts/gguf-variants.ts'
import type { GgufVariant } from './facts/gguf-variants.ts'
import { readGgufHeader } from './files/gguf-header.ts'
import type { GgufHeader } from './files/gguf-header.ts'
import { findHubToken } from './hub-tokens.ts'
import { findLoraContents, findBase } from './find-base.ts'
import type { LoraBase } from './find-base.ts'
import { readLoraVariant } from './read-lora.ts'
import { readSafetensorsVariant } from './read-safetensors.ts'
import { openReader, sumBytes, toRefusedVariant, catchInvalid } from './repository-reader.ts'
import type { RepositoryVariant, RepositoryReader } from './repository-reader.ts'
import { fromRepository, toModelVariant } from './to-model.ts'
import type { VariantOrigin } from './to-model.ts'

export type InspectDeps = Pick<
  Services,
  | 'db'
  | 'hub'
  | 'modelStore'
  | 'fileHasher'
  | 'runtimes'
  | 'clock'
  | 'config'
  | 'log'
  | 'prices'
  | 'secretKey'
>

export interface RepositoryRequest {
  name: string
  revision: string
  /** Used instead of the organization's token; undefined for that */
  token: string | undefined
  /** Name or id of the model that a LoRA changes; undefined for the one that its files name */
  baseModel: string | undefined
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
  /** null for a model that is no LoRA, and for a LoRA without a base model */
  base: LoraBase | null
}

/** More parts than any published model has */
const maxParts = 99

/** Plans a repository's variants without storing. Throws like `readContents`, and `runtime_unavailable`. */
export async function inspectRepository(
  deps: InspectDeps,
  { organizationId, role }: Pick<Viewer, 'organizationId' | 'role'>,
  request: RepositoryRequest,
): Promise<Inspection> {
  // The organization's token reads more than a member may see.
  const ownToken = roleCan(role, 'manageModels') ? await findHubToken(deps, organizationId) : null
  const token = request.token ?? ownToken
  const { repository, variants } = await readContents(deps, { ...request, token })
  const origin = fromRepository(repository, 'organization')
  const plan = await planVariants(deps, organizationId, {
    modelName: repository.name,
    variants,
    origin,
    baseModel: request.baseModel,
  })
  return { repository, ...plan }
}

/** Finds each variant's engine and instance, and a LoRA's base model. Throws `runtime_unavailable`. */
export async function planVariants(
  deps: InspectDeps,
  organizationId: number,
  {
    modelName,
    variants,
    origin,
    baseModel,
  }: {
    modelName: string
    variants: readonly RepositoryVariant[]
    origin: VariantOrigin
    baseModel: string | undefined
  },
): Promise<Omit<Inspection, 'repository'>> {
  const contents = findLoraContents(variants)
  if (contents === null) return { base: null, variants: await placeAll(deps, modelName, variants, origin) }
  const { engines } = deps.runtimes
  const found = await findBase(deps, organizationId, contents, baseModel)
  const [base, baseObstacle] = 'reason' in found ? [null, found.reason] : [found, null]
  return {
    base,
    variants: variants.map((variant) => ({
      variant,
      engine: findServingEngine(variant, engines) ?? null,
      obstacle: findObstacle(variant, engines) ?? baseObstacle,
      placement: null,
    })),
  }
}

async function placeAll(
  deps: InspectDeps,
  modelName: string,
  variants: readonly RepositoryVariant[],
  origin: VariantOrigin,
): Promise<InspectedVariant[]> {
  const { engines } = deps.runtimes
  const loadable = variants.filter((variant) => findObstacle(variant, engines) === null)
  const results = await placeVariants(
    deps,
    loadable.map((variant) => toModelVariant(modelName, variant, engines, origin)),
  )
  const placements = new Map(loadable.map((variant, index) => [variant, results[index]!]))
  return variants.map((variant) => ({
    variant,
    engine: findServingEngine(variant, engines) ?? null,
    obstacle: findObstacle(variant, engines),
    placement: placements.get(variant) ?? null,
  }))
}

/** Throws `repository_not_found`, `repository_gated`, `no_runnable_weights` and `hub_unreachable`. */
export async function readContents(
  { hub }: Pick<Services, 'hub'>,
  { name, revision, token }: Pick<RepositoryRequest, 'name' | 'revision'> & { token: string | null },
): Promise<RepositoryContents> {
  try {
    return await readRepository(hub.open(token), name, revision)
  } catch (error) {
    if (error instanceof ModelHubError) throw toApplicationError(error)
    throw error
  }
}

/** What a repository contains. */
interface RepositoryContents {
  repository: HubRepository
  variants: RepositoryVariant[]
}

/** Reads a repository's descriptions and headers at a revision, no weights. Throws ModelHubError. */
async function readRepository(
  session: HubSession,
  name: string,
  revision: string,
): Promise<RepositoryContents> {
  const repository = await session.describe(name, revision)
  const reader = openReader(session, repository)
  const groups = await Promise.all([
    readGgufVariants(reader),
    readSafetensorsVariant(reader),
    readLoraVariant(reader),
  ])
  return { repository, variants: [...groups.flat(), ...listRefused(repository)] }
}

/** Reads the facts of all quantizations from the smallest, because headers take several megabytes. */
async function readGgufVariants(reader: RepositoryReader): Promise<RepositoryVariant[]> {
  const { variants, projector } = listGgufVariants(reader.repository.files)
  const smallest = variants.findLast(({ reason, files }) => reason === null && files.length <= maxParts)
  if (smallest === undefined)
    return variants.map((variant) => refuse(variant, variant.reason ?? 'Too many parts'))
  const read = await catchInvalid(() => readFacts(reader, smallest))
  if ('reason' in read) return variants.map((variant) => refuse(variant, variant.reason ?? read.reason))
  const { facts, parameters } = read.value
  const inHeader = variants.length === 1 ? facts.quantization : null
  return variants.map(({ quantization, files, bytes, reason }) => ({
    format: facts.lora === null ? ggufFormat : ggufLoraFormat,
    quantization: quantization === unknownQuantization ? (inHeader ?? quantization) : quantization,
    modelType: facts.modelType,
    weightBytes: bytes,
    files: files.map(({ path }) => path),
    parameters,
    contextTokens: facts.contextLength,
    architecture: facts.architecture,
    architectureName: facts.name,
    needsArchitecture: true,
    projector: projector?.path ?? null,
    seesImages: false,
    chatTemplate: facts.chatTemplate,
    toolTemplate: facts.toolTemplate,
    lora: facts.lora,
    reason,
  }))
}

function refuse({ quantization, bytes }: GgufVariant, reason: string): RepositoryVariant {
  return toRefusedVariant(ggufFormat, quantization, bytes, reason)
}

async function readFacts(reader: RepositoryReader, { files }: GgufVariant) {
  const headers: GgufHeader[] = []
  for (const file of files) headers.push(await readGgufHeader(reader.open(file)))
  const parameters = headers.reduce((sum, header) => sum + header.parameters, 0)
  return { parameters, facts: readGgufFacts(headers[0]!, parameters) }
}

/** The weights in formats that no engine loads, one variant per format. */
function listRefused({ files }: HubRepository): RepositoryVariant[] {
  return refusedFiles.flatMap(({ pattern, format, reason }) => {
    const found = files.filter(({ path }) => pattern.test(path))
    if (found.length === 0) return []
    return [toRefusedVariant(format, 'none', sumBytes(found), reason)]
  })
}

function toApplicationError(error: ModelHubError): ApplicationError {
  const shortage = findShortage(error)
  if (shortage !== null) return overloaded(shortage)
  const codes = {
    not_found: 'repository_not_found',
    gated: 'repository_gated',
    unreachable: 'hub_unreachable',
    invalid: 'no_runnable_weights',
  } as const
  return new ApplicationError(codes[error.failure], error.message)
}

/** Finds the engine of this server that loads a variant or serves it as a LoRA, or the first that can't. */
export function findServingEngine(
  variant: RepositoryVariant,
  engines: readonly RuntimeEngine[],
): RuntimeEngine | undefined {
  const candidates = listCandidates(variant, engines)
  return candidates.find((engine) => findEngineObstacle(variant, engine) === null) ?? candidates[0]
}

/** The engines for the format of a variant; several runtimes may have one. */
function listCandidates(
  variant: Pick<RepositoryVariant, 'format' | 'lora'>,
  engines: readonly RuntimeEngine[],
): RuntimeEngine[] {
  if (variant.lora === null) return listEnginesFor(variant, engines)
  return engines.filter(({ loras }) => loras?.format === variant.format)
}

/** Why no engine of this server can load a variant, as a clause; null if one can. */
export function findObstacle(variant: RepositoryVariant, engines: readonly RuntimeEngine[]): string | null {
  if (variant.reason !== null) return variant.reason
  const { format, lora } = variant
  if (lora !== null && lora.rank === 0) return 'The files have no matrices of a LoRA'
  const engine = findServingEngine(variant, engines)
  if (engine === undefined) {
    return lora === null
      ? `No engine of this server loads ${nameFormat(format)}`
      : `No engine of this server serves LoRAs in the format ${nameFormat(format)}`
  }
  return findEngineObstacle(variant, engine)
}

function findEngineObstacle(variant: RepositoryVariant, engine: RuntimeEngine): string | null {
  const { architectureName: name, lora } = variant
  const rankObstacle = lora === null ? null : findRankObstacle(engine, lora.rank)
  if (rankObstacle !== null) return rankObstacle
  if (!variant.needsArchitecture || engine.architectures === undefined) return null
  if (name === null) return 'The files name no architecture'
  if (engine.architectures.includes(name)) return null
  return `${engine.title} does not have the architecture ${JSON.stringify(name.slice(0, 100))}`
}
