import type { DatabaseTransaction } from '../../database/tables.ts'

/** Those of the ids that are no teams of the organization. Keeps the others until the transaction ends. */
export async function holdTeams(
  transaction: DatabaseTransaction,
  organizationId: number,
  ids: readonly number[],
): Promise<number[]> {
  if (ids.length === 0) return []
  const held = await transaction
    .selectFrom('teams')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('id', 'in', ids)
    .orderBy('id')
    .forKeyShare()
    .execute()
  return ids.filter((id) => !held.some((team) => team.id === id))
}
