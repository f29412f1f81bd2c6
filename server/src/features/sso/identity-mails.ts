import type { Services } from '../../services.ts'
import { composeAccountMail } from '../accounts/compose-account-mail.ts'
import type { MailComposers } from '../mail/send-mail.ts'

const note =
  'If this surprises you, check how you sign in on your profile page, and let your Berth administrator know.'

/** Composers of the emails about changes of a user's links to the identity provider. */
export function identityComposers({
  db,
  config,
}: Pick<Services, 'db' | 'config'>): Pick<
  MailComposers,
  'identity_linked' | 'identity_unlinked' | 'email_changed'
> {
  const provider = config.sso?.displayName ?? 'an identity provider'
  const compose = (subject: string, write: (email: string) => string) => (userId: number) =>
    composeAccountMail({ db }, userId, (email) => ({ subject, paragraphs: [write(email)], note }))
  return {
    identity_linked: compose(
      'Someone signed in to your Berth account in a new way',
      (email) =>
        `The Berth account ${email} can now be opened through ${provider}, because it confirmed this address.`,
    ),
    identity_unlinked: compose(
      'A way to sign in to your Berth account was removed',
      (email) =>
        `The Berth account ${email} is no longer linked to its account at ${provider}. Your other sessions are signed out.`,
    ),
    email_changed: compose(
      'The address of your Berth account has changed',
      (email) =>
        `${email} is now the address of your Berth account, because ${provider} confirmed it. Links that were emailed to the earlier address no longer work.`,
    ),
  }
}
