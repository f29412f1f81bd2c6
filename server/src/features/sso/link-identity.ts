import type { DatabaseTransaction } from '../../database/tables.ts'
import type { Services } from '../../services.ts'
import type { Actor } from '../../base/viewer.ts'
import type { Identity } from '../../ports/identity-provider.ts'
import { identifyActor } from '../accounts/identify-actor.ts'
import { recordAction } from '../audit/record-action.ts'
import { queueMail } from '../mail/queue-mail.ts'
import { SsoRefusal } from './errors.ts'
import { insertIdentity, listIdentities } from './store.ts'

/**
 * Links an identity to a locked account and emails an existing owner. Throws `sso_email_in_use` if the
 * account has another identity of this issuer: its address then belonged to another person before.
 */
export async function linkIdentity(
  deps: Pick<Services, 'clock' | 'config' | 'jobs'>,
  transaction: DatabaseTransaction,
  visitor: Actor,
  { userId, isNew }: { userId: number; isNew: boolean },
  { issuer, subject }: Identity,
): Promise<void> {
  const linked = (await listIdentities(transaction, userId)).find((other) => other.issuer === issuer)
  // A concurrent sign-in of the same person was first.
  if (linked?.subject === subject) return
  if (linked !== undefined) throw new SsoRefusal('sso_email_in_use')
  await insertIdentity(transaction, { issuer, subject, userId, at: deps.clock() })
  const actor = await identifyActor(transaction, visitor, userId)
  const { email } = actor
  if (!isNew) {
    await queueMail(deps, transaction, { kind: 'identity_linked', subjectId: userId, recipient: email })
  }
  const target = { type: 'user', id: userId, name: email } as const
  await recordAction(transaction, actor, 'user.identity_linked', { target, details: { issuer } })
}
