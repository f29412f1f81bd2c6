import type { Database } from '../../../database/tables.ts'

/** The organizations in their trial that have active deployments. */
export function listActiveTrials(
  db: Database,
): Promise<{ organization_id: number; trial_exhausted_at: Date | null }[]> {
  return db
    .selectFrom('billing_accounts')
    .select(['billing_accounts.organization_id', 'trial_exhausted_at'])
    .where('billing_mode', '=', 'trial')
    .where((where) =>
      where.exists(
        where
          .selectFrom('deployments')
          .select('deployments.id')
          .whereRef('deployments.organization_id', '=', 'billing_accounts.organization_id')
          .where('deployments.status', 'not in', ['failed', 'terminating', 'terminated']),
      ),
    )
    .orderBy('billing_accounts.id')
    .execute()
}

/** Records when a trial's credit was used up, or null to forget it; false if another process did so first. */
export async function setTrialExhausted(
  db: Database,
  organizationId: number,
  at: Date | null,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('billing_accounts')
    .set({ trial_exhausted_at: at })
    .where('organization_id', '=', organizationId)
    .where('trial_exhausted_at', at === null ? 'is not' : 'is', null)
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}
