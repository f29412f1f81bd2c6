import type { Selectable } from 'kysely'
import type { Database, Tables } from '../../database/tables.ts'

export type Mail = Selectable<Tables['mails']>
export type MailKind = Mail['kind']

export async function insertMail(
  db: Database,
  mail: { kind: MailKind; subjectId: number; recipient: string; messageId: string; at: Date },
): Promise<number> {
  const { id } = await db
    .insertInto('mails')
    .values({
      kind: mail.kind,
      subject_id: mail.subjectId,
      recipient: mail.recipient,
      message_id: mail.messageId,
      created_at: mail.at,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}
