/** The models of endpoints in the catalogs of organizations. */

import { sql } from 'kysely'
import { v7 as uuidv7 } from 'uuid'
import type { TokenPrices } from '../../base/price.ts'
import type { DatabaseTransaction } from '../../database/tables.ts'
import { endpointFormat } from '../../ports/model-variant.ts'
import type { ModelType } from '../../ports/model-variant.ts'
import { unknownLicense } from './model.ts'
import type { CatalogModel, CatalogVariant } from './model.ts'
import { parseStoredModel, serializeModel } from './stored-model.ts'

/** The default context of a model; the endpoint refuses longer requests. */
const usualContextTokens = 131_072

/** An endpoint as its models show it. */
export interface EndpointHead {
  id: string
  name: string
  prices: TokenPrices | null
}

/** A model that an endpoint serves. */
export interface ServedModel {
  name: string
  type: ModelType
  context_tokens: number | null
}

/**
 * Makes the models of an endpoint in the organization's catalog these. Models that stay keep their names and
 * what people changed. A new one has the endpoint's name of it; if that means something else already, also
 * to the `aliases` of deployments, it begins with the name of the endpoint.
 */
export async function replaceEndpointModels(
  transaction: DatabaseTransaction,
  organizationId: number,
  endpoint: EndpointHead,
  models: readonly ServedModel[],
  aliases: readonly string[],
): Promise<void> {
  await sql`LOCK TABLE deployable_models IN SHARE ROW EXCLUSIVE MODE`.execute(transaction)
  const known = await listEndpointModels(transaction, organizationId, endpoint.id)
  const isTaken = await readTakenNames(transaction, organizationId, aliases)
  const kept = models.map((model) => toModel(endpoint, model, known.get(model.name), isTaken))
  await removeModels(transaction, organizationId, endpoint.id, kept)
  // A statement has at most 65,535 parameters.
  for (let from = 0; from < kept.length; from += 1_000) {
    await storeModels(transaction, organizationId, kept.slice(from, from + 1_000))
  }
}

async function listEndpointModels(
  transaction: DatabaseTransaction,
  organizationId: number,
  endpointId: string,
): Promise<Map<string, CatalogModel>> {
  const rows = await transaction
    .selectFrom('deployable_models')
    .select(['id', 'entry'])
    .where('organization_id', '=', organizationId)
    .where(sql`entry #>> '{source,endpoint}'`, '=', endpointId)
    .execute()
  const models = rows.map(parseStoredModel)
  return new Map(
    models.flatMap((model) => (model.source.kind === 'endpoint' ? [[model.source.model, model]] : [])),
  )
}

/** Returns a function that says whether a name is taken, and takes it if not. */
async function readTakenNames(
  transaction: DatabaseTransaction,
  organizationId: number,
  aliases: readonly string[],
): Promise<(name: string) => boolean> {
  const rows = await transaction
    .selectFrom('deployable_models')
    .select(['id', 'model_name'])
    .where((where) =>
      where.or([where('organization_id', 'is', null), where('organization_id', '=', organizationId)]),
    )
    .execute()
  const names = rows.flatMap(({ id, model_name: name }) => [id, name])
  const taken = new Set([...names, ...aliases].map((name) => name.toLowerCase()))
  return (name) => {
    if (taken.has(name.toLowerCase())) return true
    taken.add(name.toLowerCase())
    return false
  }
}

function toModel(
  endpoint: EndpointHead,
  { name, type, context_tokens: contextTokens }: ServedModel,
  before: CatalogModel | undefined,
  isTaken: (name: string) => boolean,
): CatalogModel {
  const modelName = before?.modelName ?? chooseName(endpoint.name, name, isTaken)
  const variant: CatalogVariant = {
    modelName,
    modelType: type,
    format: endpointFormat,
    sizeInBillions: 0,
    quantization: 'none',
    contextLength: contextTokens ?? usualContextTokens,
    architecture: null,
    weightBytes: 0,
    weights: { kind: 'endpoint', endpoint: endpoint.id, model: name },
    engines: {},
    gated: false,
  }
  const isDescribed = before !== undefined && before.description !== describe(before.provider)
  return {
    id: before?.id ?? uuidv7(),
    source: { kind: 'endpoint', endpoint: endpoint.id, model: name, prices: endpoint.prices },
    modelName,
    displayName: before?.displayName ?? name,
    provider: endpoint.name,
    family: name,
    modelType: type,
    description: isDescribed ? before.description : describe(endpoint.name),
    license: unknownLicense,
    tags: before?.tags ?? [type === 'LLM' ? 'chat' : type],
    suggestedPrompts: [],
    enabled: before?.enabled ?? true,
    sortOrder: before?.sortOrder ?? 0,
    variants: [variant],
    default: variant,
  }
}

function describe(endpointName: string): string {
  return `A model of the endpoint ${endpointName}.`
}

function chooseName(endpointName: string, model: string, isTaken: (name: string) => boolean): string {
  if (!isTaken(model)) return model
  const words = endpointName
    .toLowerCase()
    .replaceAll(/[^a-z0-9.]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
  const prefix = words === '' ? 'endpoint' : words
  for (let number = 1; ; number += 1) {
    const name = `${prefix}${number === 1 ? '' : `-${number}`}/${model}`
    if (!isTaken(name)) return name
  }
}

async function removeModels(
  transaction: DatabaseTransaction,
  organizationId: number,
  endpointId: string,
  kept: readonly CatalogModel[],
): Promise<void> {
  await sql`
    DELETE FROM deployable_models
    WHERE organization_id = ${organizationId} AND entry #>> '{source,endpoint}' = ${endpointId}
      AND id <> ALL (${kept.map(({ id }) => id)}::text[])`.execute(transaction)
}

async function storeModels(
  transaction: DatabaseTransaction,
  organizationId: number,
  models: readonly CatalogModel[],
): Promise<void> {
  if (models.length === 0) return
  await transaction
    .insertInto('deployable_models')
    .values(
      models.map((model) => ({
        id: model.id,
        organization_id: organizationId,
        model_name: model.modelName,
        model_type: model.modelType,
        provider: model.provider,
        enabled: model.enabled,
        sort_order: model.sortOrder,
        entry: serializeModel(model),
      })),
    )
    .onConflict((conflict) =>
      conflict
        .column('id')
        .doUpdateSet((set) => ({
          model_type: set.ref('excluded.model_type'),
          provider: set.ref('excluded.provider'),
          entry: set.ref('excluded.entry'),
          updated_at: sql`now()`,
        }))
        .where('deployable_models.entry', 'is distinct from', sql`excluded.entry`),
    )
    .execute()
}
