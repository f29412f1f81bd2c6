import type { DatabaseTransaction } from '../../database/tables.ts'

/** Those of the ids that are teams of the organization. Keeps these until the transaction ends. */
export async function holdTeams(
  transaction: DatabaseTransaction,
  organizationId: number,
  ids: readonly number[],
): Promise<number[]> {
  if (ids.length === 0) return []
  const teams = await transaction
    .selectFrom('teams')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('id', 'in', ids)
    .orderBy('id')
    .forKeyShare()
    .execute()
  return teams.map(({ id }) => id)
}
