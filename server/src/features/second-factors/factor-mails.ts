import type { Services } from '../../services.ts'
import { composeAccountMail } from '../accounts/compose-account-mail.ts'
import type { MailComposers } from '../mail/send-mail.ts'
import { countRecoveryCodes } from './store.ts'

const unexpected =
  'If you didn’t do this, someone else may have your password. Reset your password, check how you sign in on your profile page, and let your Berth administrator know.'

const mails = {
  second_factor_added: {
    subject: 'A second factor was added to your Berth account',
    text: (email: string) =>
      `The Berth account ${email} now has another second factor. Sign-ins with the password need a second factor, and your other sessions are signed out.`,
    note: unexpected,
  },
  second_factor_deleted: {
    subject: 'A second factor was removed from your Berth account',
    text: (email: string) =>
      `A second factor of the Berth account ${email} was just removed. Your other sessions are signed out.`,
    note: unexpected,
  },
  second_factors_reset: {
    subject: 'The second factors of your Berth account were reset',
    text: (email: string) =>
      `The operator of this server removed all second factors of the Berth account ${email} and signed you out everywhere. You can now sign in with your password alone.`,
    note: 'Set up a second factor again on your profile page. If you didn’t ask for this, let your Berth administrator know.',
  },
  recovery_codes_rotated: {
    subject: 'Your Berth recovery codes were replaced',
    text: (email: string) =>
      `The Berth account ${email} has ten new recovery codes. The earlier ones no longer work.`,
    note: unexpected,
  },
  recovery_code_used: {
    subject: 'A recovery code of your Berth account was used',
    text: (email: string, left: number) =>
      `Someone signed in to the Berth account ${email} with its password and a recovery code. Recovery codes left: ${left}.`,
    note: unexpected,
  },
}

/** Composers of the emails about changes of a user's second factors. */
export function factorComposers({ db }: Pick<Services, 'db'>): Pick<MailComposers, keyof typeof mails> {
  const compose = (kind: keyof typeof mails) => async (userId: number) => {
    const { subject, text, note } = mails[kind]
    const left = await countRecoveryCodes(db, userId)
    return composeAccountMail({ db }, userId, (email) => ({ subject, paragraphs: [text(email, left)], note }))
  }
  return {
    second_factor_added: compose('second_factor_added'),
    second_factor_deleted: compose('second_factor_deleted'),
    second_factors_reset: compose('second_factors_reset'),
    recovery_codes_rotated: compose('recovery_codes_rotated'),
    recovery_code_used: compose('recovery_code_used'),
  }
}
