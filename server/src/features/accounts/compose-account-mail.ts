import type { Services } from '../../services.ts'
import { formatMail } from '../mail/format-mail.ts'
import type { MailText } from '../mail/format-mail.ts'
import { findAccountEmail } from './find-account.ts'

/** Emails a user, without the account's name, which an attacker may have chosen; null without an account. */
export async function composeAccountMail(
  { db }: Pick<Services, 'db'>,
  userId: number,
  write: (email: string) => { subject: string; paragraphs: string[]; note: string },
): Promise<MailText | null> {
  const email = await findAccountEmail(db, userId)
  if (email === undefined) return null
  const { subject, paragraphs, note } = write(email)
  return formatMail({ subject, paragraphs: ['Hi,', ...paragraphs], notes: [note] })
}
