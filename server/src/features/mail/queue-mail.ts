import { randomUUID } from 'node:crypto'
import type { DatabaseTransaction } from '../../database/tables.ts'
import type { Services } from '../../services.ts'
import { insertMail } from './store.ts'
import type { MailKind } from './tables.ts'

/** Adds an email and its job in the caller's transaction; returns its id. `recipient` must be validated. */
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
