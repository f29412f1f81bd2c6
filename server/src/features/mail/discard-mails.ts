import type { DatabaseTransaction } from '../../database/tables.ts'

/** Gives up all emails that were not sent. */
export async function discardMails(transaction: DatabaseTransaction): Promise<void> {
  await transaction
    .updateTable('mails')
    .set({ status: 'superseded' })
    .where('status', '=', 'pending')
    .execute()
}
