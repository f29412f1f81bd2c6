import type { Services } from '../../services.ts'
import { formatMail } from '../mail/format-mail.ts'
import type { MailText } from '../mail/format-mail.ts'
import { findAccountEmail } from './find-account.ts'

/**
 * Writes an email about an account to its user; null if there is no such account. The email names the account
 * by its address only, because an attacker may have chosen the account's name.
 */
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
