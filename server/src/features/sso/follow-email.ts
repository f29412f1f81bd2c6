import type { DatabaseTransaction } from '../../database/tables.ts'
import type { Services } from '../../services.ts'
import type { Actor } from '../../base/viewer.ts'
import type { Identity } from '../../ports/identity-provider.ts'
import { changeEmail } from '../accounts/change-email.ts'
import { isUndeliverable } from '../../base/undeliverable.ts'
import { foldsIntoAscii } from '../accounts/email-folding.ts'
import { findAccountByEmail } from '../accounts/find-account.ts'
import { identifyActor } from '../accounts/identify-actor.ts'
import { recordAction } from '../audit/record-action.ts'
import { queueMail } from '../mail/queue-mail.ts'
import { deleteLinks } from '../sign-in/delete-links.ts'

/** The provider's verified email, or null: no person owns one without mail, such as a service member's. */
export function verifiedEmailOf({ email, emailVerified }: Identity): string | null {
  return emailVerified && email !== null && !foldsIntoAscii(email) && !isUndeliverable(email) ? email : null
}

/** Voids links to the earlier email, which stays if another account has the new one. Returns the email. */
export async function followEmail(
  deps: Pick<Services, 'clock' | 'config' | 'jobs'>,
  transaction: DatabaseTransaction,
  visitor: Actor,
  user: { id: number; email: string },
  identity: Identity,
): Promise<string> {
  const email = verifiedEmailOf(identity)
  if (email === null || email.toLowerCase() === user.email.toLowerCase()) return user.email
  const owner = await findAccountByEmail(transaction, email)
  if (owner !== undefined && owner.id !== user.id) {
    await record('refused', user.email)
    return user.email
  }
  await changeEmail(transaction, user.id, email, deps.clock())
  await deleteLinks(transaction, user.id)
  await queueMail(deps, transaction, { kind: 'email_changed', subjectId: user.id, recipient: email })
  await record('succeeded', email)
  return email

  async function record(result: 'succeeded' | 'refused', name: string): Promise<void> {
    const actor = await identifyActor(transaction, visitor, user.id)
    const target = { type: 'user', id: user.id, name } as const
    const details = { email: { from: user.email, to: email } }
    await recordAction(transaction, actor, 'user.email_changed', { target, details, result })
  }
}
