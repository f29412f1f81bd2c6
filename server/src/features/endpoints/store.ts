import { sql } from 'kysely'
import type { Selectable } from 'kysely'
import { validate as isUuid } from 'uuid'
import type { Database, DatabaseTransaction } from '../../database/tables.ts'
import type { EndpointModel, EndpointsTable } from './tables.ts'

export type Endpoint = Selectable<EndpointsTable>

/** The endpoints of an organization, by name. */
export function listEndpoints(db: Database, organizationId: number): Promise<Endpoint[]> {
  return db
    .selectFrom('endpoints')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .orderBy(sql`lower(name)`)
    .execute()
}

/** Finds an endpoint of an organization. */
export async function findEndpoint(
  db: Database,
  organizationId: number,
  id: string,
): Promise<Endpoint | undefined> {
  return selectOne(db, organizationId, id)?.executeTakeFirst()
}

function selectOne(db: Database, organizationId: number, id: string) {
  if (!isUuid(id)) return undefined
  return db
    .selectFrom('endpoints')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
}

/** Whether an endpoint of the organization has a name, ignoring case. */
export async function isNameTaken(db: Database, organizationId: number, name: string): Promise<boolean> {
  const found = await db
    .selectFrom('endpoints')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where(sql`lower(name)`, '=', sql<string>`lower(${name})`)
    .executeTakeFirst()
  return found !== undefined
}

/** Locks the endpoints of an organization until the transaction ends, and counts them. */
export async function lockEndpoints(
  transaction: DatabaseTransaction,
  organizationId: number,
): Promise<{ count: number }> {
  await sql`SELECT pg_advisory_xact_lock(hashtext('endpoints'), ${organizationId}::int)`.execute(transaction)
  return transaction
    .selectFrom('endpoints')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('organization_id', '=', organizationId)
    .executeTakeFirstOrThrow()
}

/** The models that an endpoint serves: those that the organization named, or all that it lists. */
export function listEndpointModels({
  chosen_models: chosen,
  listed_models: listed,
}: Endpoint): EndpointModel[] {
  if (chosen === null) return listed
  const found = new Map(listed.map((model) => [model.name, model]))
  return chosen.map((model) => ({
    ...model,
    context_tokens: model.context_tokens ?? found.get(model.name)?.context_tokens ?? null,
  }))
}

/** Finds an endpoint and locks it, so that no deployment begins to use it until the transaction ends. */
export function lockEndpoint(
  transaction: DatabaseTransaction,
  organizationId: number,
  id: string,
): Promise<Endpoint | undefined> {
  return (
    selectOne(transaction, organizationId, id)?.forUpdate().executeTakeFirst() ?? Promise.resolve(undefined)
  )
}

/** The deployments on an endpoint that have not ended, oldest first. */
export async function listDeploymentsOn(db: Database, organizationId: number, id: string): Promise<string[]> {
  const rows = await db
    .selectFrom('deployments')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where(sql`variant #>> '{weights,endpoint}'`, '=', id)
    .where('status', 'not in', ['failed', 'terminated'])
    .orderBy('created_at')
    .execute()
  return rows.map((row) => row.id)
}

/** The aliases of an organization's deployments. */
export async function listAliases(db: Database, organizationId: number): Promise<string[]> {
  const rows = await db
    .selectFrom('deployments')
    .select('alias')
    .where('organization_id', '=', organizationId)
    .where('alias', 'is not', null)
    .where('status', 'not in', ['terminating', 'terminated'])
    .execute()
  return rows.flatMap(({ alias }) => alias ?? [])
}
