import type { Database } from '../../../database/tables.ts'
import type { BillingSweepsTable } from '../account/tables.ts'

/** The processor's lists that are read again and again for new entries. */
export type SweptList = BillingSweepsTable['list']

/** The end of the last read of a processor account's list; undefined before the first sweep. */
export async function findSweptUntil(
  db: Database,
  account: string,
  list: SweptList,
): Promise<Date | undefined> {
  const swept = await db
    .selectFrom('billing_sweeps')
    .select('swept_until')
    .where('processor', '=', account)
    .where('list', '=', list)
    .executeTakeFirst()
  return swept?.swept_until
}

/** Stores the last sweep and deletes those of other processor accounts: a return to one needs a full sync. */
export async function setSweptUntil(
  db: Database,
  account: string,
  list: SweptList,
  until: Date,
): Promise<void> {
  await db
    .insertInto('billing_sweeps')
    .values({ processor: account, list, swept_until: until })
    .onConflict((conflict) => conflict.columns(['processor', 'list']).doUpdateSet({ swept_until: until }))
    .execute()
  await db.deleteFrom('billing_sweeps').where('processor', '!=', account).execute()
}
