import { sql } from 'kysely'
import type { Database } from '../../database/tables.ts'
import type { EngineOptions, ModelVariant } from '../../ports/model-variant.ts'
import type { TokenPrices } from '../../base/price.ts'
import type { Services } from '../../services.ts'
import { ApplicationError } from '../../base/errors.ts'
import { findVariant, listMatchingVariants } from '../catalog/model.ts'
import type { CatalogModel, CatalogVariant, VariantChoice } from '../catalog/model.ts'
import { findRequestedModel, listDeployableModels } from '../catalog/find-variant.ts'
import { requireEngineOptions } from '../catalog/engine-options.ts'
import { findAlternatives } from './alternatives.ts'
import type { Alternatives } from './alternatives.ts'
import { listPricedOffers, noNeeds, noRequirements, requireAnswers, toRules } from './choose-instance.ts'
import type { Requirements } from './choose-instance.ts'
import { chooseVariant } from './choose-variant.ts'
import type { ChosenVariant } from './choose-variant.ts'
import { selectInstance } from './instance-selection.ts'
import type { Selection, SelectionResult } from './instance-selection.ts'
import type { PricedOffer, SelectionRules } from './offers.ts'
import { queryRuntime } from './query-runtime.ts'

type Deps = Pick<Services, 'db' | 'runtimes' | 'clock' | 'config' | 'log' | 'prices'>

export interface DeploymentPlan {
  choice: ChosenVariant
  /** null if its tokens cost what the price list says */
  tokenPrices: TokenPrices | null
  result: SelectionResult
  alternatives: Alternatives
  /** Median of the last starts in the organization; null before the first */
  startSeconds: number | null
  /** null if no instance type fits, and for engines whose command line isn't Berth's */
  command: readonly string[] | null
}

/** Returns a deployment's instance type, capacity and the reason, without creating the deployment. */
export async function planDeployment(
  deps: Deps,
  organizationId: number,
  input: { modelName: string } & VariantChoice,
  requirements: Requirements,
  engineOptions: EngineOptions = {},
): Promise<DeploymentPlan> {
  const model = await findRequestedModel(deps, organizationId, input)
  const needs = { ...noNeeds, options: engineOptions }
  const { offers, rules } = await readRuntime(deps, { ...requirements, needs })
  const choice = chooseVariant(model, input, offers, rules)
  const { variant } = choice
  requireEngineOptions(variant, deps.runtimes.engines, engineOptions)
  const result = selectInstance(variant, offers, rules, [])
  const startSeconds = await readUsualStartSeconds(deps.db, organizationId, variant)
  const alternatives = findAlternatives(variant, result, rules)
  const command = await describeCommand(deps, variant, result, engineOptions)
  return { choice, tokenPrices: tokenPricesOf(model), result, alternatives, startSeconds, command }
}

function tokenPricesOf({ source }: CatalogModel): TokenPrices | null {
  return source.kind === 'endpoint' ? source.prices : null
}

async function describeCommand(
  { runtimes }: Pick<Deps, 'runtimes'>,
  variant: ModelVariant,
  result: SelectionResult,
  engineOptions: EngineOptions,
): Promise<readonly string[] | null> {
  if (result.outcome === 'infeasible') return null
  const { offer, sizing, memoryBytes } = result.selection
  const { instanceType, gpuCount, runtime } = offer
  const planned = { variant, engineOptions, instanceType, gpuCount, memoryBytes, ...sizing.capacity }
  return (await runtimes.get(runtime.name).describeCommand?.(planned)) ?? null
}

/** Median seconds of a variant's last starts, or null; per organization, as model names may collide. */
async function readUsualStartSeconds(
  db: Database,
  organizationId: number,
  { modelName, format, sizeInBillions, quantization }: ModelVariant,
): Promise<number | null> {
  const { rows } = await sql<{ seconds: number | null }>`
    SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds)::float8 AS seconds FROM (
      SELECT extract(epoch FROM instances.ready_at - instances.created_at)::float8 AS seconds
      FROM instances JOIN deployments ON deployments.id = instances.deployment_id
      WHERE organization_id = ${organizationId} AND model_name = ${modelName} AND model_format = ${format}
        AND model_size_in_billions = ${sizeInBillions} AND quantization = ${quantization} AND ready_at IS NOT NULL
      ORDER BY instances.id DESC LIMIT 5) AS recent`.execute(db)
  return rows[0]?.seconds ?? null
}

/**
 * Chooses the variant of a new deployment. Throws `model_not_deployable`, with the plan's reason, if no
 * instance type can ever run it. While the runtime doesn't respond, it accepts only requests that leave
 * nothing to choose, and selects no instance type.
 */
export async function chooseDeployable(
  deps: Deps,
  organizationId: number,
  input: { modelName: string } & VariantChoice,
  requirements: Requirements,
): Promise<ChosenVariant & { selection: Selection | null }> {
  const model = await findRequestedModel(deps, organizationId, input)
  const [only, ...others] = listMatchingVariants(model, input)
  const runtime = await readRuntime(deps, requirements).catch((error: unknown) => {
    if (others.length > 0 || only === undefined) throw error
    return only
  })
  if (!('offers' in runtime)) return { variant: runtime, reason: null, selection: null }
  const { offers, rules } = runtime
  const choice = chooseVariant(model, input, offers, rules)
  const result = requireAnswers(selectInstance(choice.variant, offers, rules, []))
  if (result.outcome === 'infeasible') throw new ApplicationError('model_not_deployable', result.reason)
  return { ...choice, selection: result.selection }
}

/** Returns a function for a model's default or best match, on current hardware or by catalog in an outage. */
export async function readDefaults(
  deps: Deps,
): Promise<(model: CatalogModel, choice?: VariantChoice) => CatalogVariant> {
  const runtime = await readRuntime(deps).catch(() => null)
  if (runtime === null) return (model, choice) => findVariant(model, choice) ?? model.default
  const { offers, rules } = runtime
  return (model, choice = {}) => chooseVariant(model, choice, offers, rules).variant
}

/** A catalog variant with the instance type that it would get. */
export interface Placement {
  modelId: string
  variant: ModelVariant
  /** null if its tokens cost what the price list says */
  tokenPrices: TokenPrices | null
  result: SelectionResult
}

/** Plans every variant of the organization's enabled models, in catalog order, with one query for offers. */
export async function listPlacements(deps: Deps, organizationId: number): Promise<Placement[]> {
  const models = await listDeployableModels(deps, organizationId)
  const { offers, rules } = await readRuntime(deps)
  return models.flatMap((model) =>
    model.variants.map((variant) => ({
      modelId: model.id,
      variant,
      tokenPrices: tokenPricesOf(model),
      result: selectInstance(variant, offers, rules, []),
    })),
  )
}

/** Plans variants inside or outside the catalog, with one query for offers. Throws `runtime_unavailable`. */
export async function placeVariants(
  deps: Pick<Services, 'runtimes' | 'clock' | 'config' | 'log' | 'prices'>,
  variants: readonly ModelVariant[],
): Promise<SelectionResult[]> {
  const { offers, rules } = await readRuntime(deps)
  return variants.map((variant) => selectInstance(variant, offers, rules, []))
}

/** What a choice depends on. Throws `runtime_unavailable`. */
async function readRuntime(
  deps: Omit<Deps, 'db'>,
  requirements: Requirements = noRequirements,
): Promise<{ offers: PricedOffer[]; rules: SelectionRules }> {
  return queryRuntime(deps, 'instance types', async () => {
    const { offers, away } = await listPricedOffers(deps)
    return { offers, rules: { ...toRules(deps, requirements), away } }
  })
}
