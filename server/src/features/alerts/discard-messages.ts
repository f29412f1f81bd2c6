import type { DatabaseTransaction } from '../../database/tables.ts'

/** Gives up all messages that were not delivered. */
export async function discardMessages(transaction: DatabaseTransaction, at: Date): Promise<void> {
  await transaction
    .updateTable('webhook_messages')
    .set({ status: 'failed', last_error: 'The installation was copied.', finished_at: at })
    .where('status', '=', 'pending')
    .execute()
}
