import type { Application } from './application.ts'
import { composePasswordChangedMail, composePasswordResetMail } from './features/accounts/password-mails.ts'
import { issuePasswordReset } from './features/accounts/password-reset.ts'
import { deleteExpired } from './features/accounts/store.ts'
import { runReconciler } from './features/deployments/run-reconciler.ts'
import { sweepOrphans } from './features/deployments/sweep-orphans.ts'
import { composeInvitationMail } from './features/invitations/compose-mail.ts'
import { sendMail } from './features/mail/send-mail.ts'
import type { Composers } from './features/mail/send-mail.ts'
import { sweepMails } from './features/mail/sweep-mails.ts'
import { deleteExpiredFlows } from './features/sso/store.ts'

const composers: Composers = {
  invitation: composeInvitationMail,
  password_reset: composePasswordResetMail,
  password_changed: composePasswordChangedMail,
}

/** Does every feature's background work until it is stopped. */
export async function startWorker(application: Application): Promise<{ stop(): Promise<void> }> {
  const { jobs, db, clock } = application
  await jobs.handle('send-mail', ({ mailId }) => sendMail(application, mailId, composers), { atOnce: 10 })
  await jobs.handle('sweep-mails', () => sweepMails(application))
  const issueReset = ({ email }: { email: string }) => issuePasswordReset(application, email)
  await jobs.handle('request-password-reset', issueReset, { atOnce: 20 })
  await jobs.handle('sweep-orphans', () => sweepOrphans(application))
  await jobs.handle('forget-expired', async () => {
    await deleteExpired(db, clock())
    await deleteExpiredFlows(db, clock())
  })
  for (const sweep of [sweepMails, sweepOrphans]) {
    // The schedule repeats it: what can't be reached now must not keep the server from starting.
    await sweep(application).catch((error: unknown) =>
      application.log.warn({ err: error }, 'the first sweep failed'),
    )
  }
  return runReconciler(application)
}
