import type { DatabaseTransaction } from '../../database/tables.ts'

/** Keeps an endpoint until the transaction ends. False without one. */
export async function holdEndpoint(
  transaction: DatabaseTransaction,
  organizationId: number,
  id: string,
): Promise<boolean> {
  const found = await transaction
    .selectFrom('endpoints')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .forKeyShare()
    .executeTakeFirst()
  return found !== undefined
}
