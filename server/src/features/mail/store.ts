import { sql } from 'kysely'
import type { Selectable } from 'kysely'
import type { Database } from '../../database/tables.ts'
import type { MailKind, MailsTable } from './tables.ts'

export type Mail = Selectable<MailsTable>

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

/** Leases an email for at most `leaseSeconds`; undefined if it is finished, leased or not yet due. */
export function leaseMail(db: Database, id: number, leaseSeconds: number): Promise<Mail | undefined> {
  return db
    .updateTable('mails')
    .set({ attempts: sql`attempts + 1`, attempt_at: secondsFromNow(leaseSeconds) })
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .where('attempt_at', '<=', sql<Date>`now()`)
    .returningAll()
    .executeTakeFirst()
}

/** True after the first attempt at an email */
export async function isAttempted(db: Database, id: number): Promise<boolean> {
  const mail = await db
    .selectFrom('mails')
    .select(['status', 'last_error'])
    .where('id', '=', id)
    .executeTakeFirst()
  return mail === undefined || mail.status !== 'pending' || mail.last_error !== null
}

/** Records a delivery, even if another attempt has leased the email since. */
export async function markSent(db: Database, id: number, at: Date): Promise<void> {
  await db
    .updateTable('mails')
    .set({ status: 'sent', sent_at: at, last_error: null })
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .execute()
}

/** Finishes an undelivered email, unless another attempt has leased it since. */
export async function finishMail(
  db: Database,
  mail: Pick<Mail, 'id' | 'attempts'>,
  end: { status: 'failed'; reason: string } | { status: 'superseded' },
): Promise<void> {
  await db
    .updateTable('mails')
    .set({ status: end.status, ...('reason' in end ? { last_error: end.reason } : {}) })
    .where('id', '=', mail.id)
    .where('status', '=', 'pending')
    .where('attempts', '=', mail.attempts)
    .execute()
}

/** Schedules a retry after a failed attempt; false when another attempt has leased the email since. */
export async function rescheduleMail(
  db: Database,
  mail: Pick<Mail, 'id' | 'attempts'>,
  reason: string,
  retryDelaySeconds: number,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('mails')
    .set({ last_error: reason, attempt_at: secondsFromNow(retryDelaySeconds) })
    .where('id', '=', mail.id)
    .where('status', '=', 'pending')
    .where('attempts', '=', mail.attempts)
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}

/** Makes at most `limit` emails due that have been due for over `overdueSeconds`, and returns their ids. */
export async function claimOverdueMails(
  db: Database,
  overdueSeconds: number,
  limit: number,
): Promise<number[]> {
  const overdue = db
    .selectFrom('mails')
    .select('id')
    .where('status', '=', 'pending')
    .where('attempt_at', '<', secondsFromNow(-overdueSeconds))
    .orderBy('attempt_at')
    .limit(limit)
    .forUpdate()
    .skipLocked()
  const rows = await db
    .updateTable('mails')
    .set({ attempt_at: sql<Date>`now()` })
    .where('id', 'in', overdue)
    .returning('id')
    .execute()
  return rows.map(({ id }) => id)
}

function secondsFromNow(seconds: number) {
  return sql<Date>`now() + make_interval(secs => ${seconds})`
}
