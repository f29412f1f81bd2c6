import type { DatabaseTransaction } from '../../database/tables.ts'

/** Gives up a mail that still waits to be sent, because another one takes its place. */
export async function supersedeMail(transaction: DatabaseTransaction, mailId: number): Promise<void> {
  await transaction
    .updateTable('mails')
    .set({ status: 'superseded' })
    .where('id', '=', mailId)
    .where('status', '=', 'pending')
    .execute()
}
