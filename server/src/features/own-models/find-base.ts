import { listDeployableModels } from '../catalog/find-variant.ts'
import type { LoraFacts, CatalogModel } from '../catalog/model.ts'
import { ggufFormat } from './facts/formats.ts'
import type { LoraContents } from './facts/lora-facts.ts'
import { findMisfit, isGgufLora } from './facts/lora-misfit.ts'
import { readBaseShapes } from './read-base-shapes.ts'
import type { BaseDeps } from './read-base-shapes.ts'
import type { RepositoryVariant } from './repository-reader.ts'

/** The model that a LoRA changes. */
export interface LoraBase {
  model: CatalogModel
  lora: LoraFacts
}

/** What owners of quantized copies add to the name of a repository */
const copySuffix =
  /[-_](gguf|awq|gptq|gptq-int[348]|fp8|fp8-dynamic|nvfp4|mxfp4|int[48]|bnb-4bit|unsloth|w\d+a\d+)$/

/** What the files of a LoRA say; null for a model that is no LoRA. */
export function findLoraContents(variants: readonly RepositoryVariant[]): LoraContents | null {
  return variants.find(({ lora }) => lora !== null)?.lora ?? null
}

/**
 * Finds a LoRA's base among the models that an organization sees or the installation has (`null`): the
 * `given` one, else the repository that the LoRA names, or a copy. Otherwise returns the reason, as a clause.
 */
export async function findBase(
  deps: BaseDeps,
  organizationId: number | null,
  contents: LoraContents,
  given: string | undefined,
): Promise<LoraBase | { reason: string }> {
  const { baseRepository, hiddenSize } = contents
  if (given === undefined && baseRepository === null) {
    return { reason: 'The LoRA does not name its base model. Name it with base_model' }
  }
  const models = await listDeployableModels(deps, organizationId)
  const found = given === undefined ? findByRepository(models, baseRepository!) : findByName(models, given)
  if (found === undefined) {
    const name = given ?? baseRepository!
    return { reason: `It is a LoRA of ${name}, which the catalog does not have. Add ${name} first` }
  }
  const sizes = listSizes(found, hiddenSize)
  if (sizes.length === 0) {
    return { reason: `It fits a hidden size of ${hiddenSize}, which no variant of ${found.modelName} has` }
  }
  const misfits = await findMisfits(deps, organizationId, { base: found, sizes, contents })
  const baseSizes = sizes.filter((size) => !misfits.has(size))
  if (baseSizes.length === 0)
    return { reason: `It does not fit ${found.modelName}: ${[...misfits.values()][0]!}` }
  const { rank, targetModules } = contents
  return { model: found, lora: { baseModelName: found.modelName, baseSizes, rank, targetModules } }
}

/** Why the matrices of a LoRA don't fit, as a clause, by size of the base. */
async function findMisfits(
  deps: BaseDeps,
  organizationId: number | null,
  { base, sizes, contents }: { base: CatalogModel; sizes: readonly number[]; contents: LoraContents },
): Promise<Map<number, string>> {
  const misfits = new Map<number, string>()
  const isGguf = isGgufLora(contents.shapes)
  for (const size of sizes) {
    // The quantizations of a size have the same tensors.
    const candidates = base.variants.filter(
      ({ format, sizeInBillions }) => sizeInBillions === size && (format === ggufFormat) === isGguf,
    )
    const variant = candidates.find(({ format }) => format === 'pytorch') ?? candidates[0]
    const tensors = variant === undefined ? null : await readBaseShapes(deps, organizationId, variant)
    const misfit = tensors === null ? null : findMisfit(contents.shapes, tensors)
    if (misfit !== null) misfits.set(size, misfit)
  }
  return misfits
}

function findByName(models: readonly CatalogModel[], given: string): CatalogModel | undefined {
  const name = given.toLowerCase()
  return (
    models.find(({ modelName }) => modelName.toLowerCase() === name) ??
    models.find(({ id }) => id.toLowerCase() === name)
  )
}

function findByRepository(models: readonly CatalogModel[], repository: string): CatalogModel | undefined {
  const name = repository.toLowerCase()
  const copied = toOriginalName(repository)
  return (
    models.find((model) => listRepositories(model).some((each) => each.toLowerCase() === name)) ??
    models.find((model) => listRepositories(model).some((each) => toOriginalName(each) === copied))
  )
}

function listRepositories({ variants }: CatalogModel): string[] {
  return variants.flatMap(({ weights }) => (weights.kind === 'huggingface' ? [weights.repo] : []))
}

/** The name of the repository that another one is a copy of, without its owner. */
function toOriginalName(repository: string): string {
  const name = repository.toLowerCase().split('/').at(-1) ?? ''
  const shorter = name.replace(copySuffix, '')
  return shorter === name ? name : toOriginalName(shorter)
}

/** The sizes of a model with this hidden size; unknown sizes count as fitting. */
function listSizes({ variants }: CatalogModel, hiddenSize: number | null): number[] {
  const fitting = variants.filter(
    ({ architecture }) =>
      architecture === null || hiddenSize === null || architecture.hiddenSize === hiddenSize,
  )
  return [...new Set(fitting.map(({ sizeInBillions }) => sizeInBillions))]
}
