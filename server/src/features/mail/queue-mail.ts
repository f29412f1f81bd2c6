import { randomUUID } from 'node:crypto'
import type { DatabaseTransaction } from '../../database/tables.ts'
import type { Services } from '../../services.ts'
import { insertMail } from './store.ts'
import type { MailKind } from './store.ts'

/**
 * Writes a mail into the outbox in the transaction that causes it, and enqueues the job that sends it; returns the mail's id.
 * `recipient` is one address that was checked before.
 */
export async function queueMail(
  { jobs, clock, config }: Pick<Services, 'jobs' | 'clock' | 'config'>,
  transaction: DatabaseTransaction,
  mail: { kind: MailKind; subjectId: number; recipient: string },
): Promise<number> {
  const messageId = `<${randomUUID()}@${config.publicUrl.hostname}>`
  const mailId = await insertMail(transaction, { ...mail, messageId, at: clock() })
  await jobs.enqueue(transaction, 'send-mail', { mailId })
  return mailId
}
