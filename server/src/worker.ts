import type { Application } from './application.ts'
import { composePasswordChangedMail, composePasswordResetMail } from './features/accounts/password-mails.ts'
import { issuePasswordReset } from './features/accounts/password-reset.ts'
import { deleteExpired } from './features/accounts/store.ts'
import { resumeActivation } from './features/billing/activate.ts'
import { usageReportChecks } from './features/billing/usage-report-checks.ts'
import { applyBillingEvent } from './features/billing/events.ts'
import { checkPrices, publishSandboxPrices } from './features/billing/publish-prices.ts'
import { reportUsage } from './features/billing/report-usage.ts'
import { sweepBillingEvents } from './features/billing/sweep-events.ts'
import { runReconciler } from './features/deployments/run-reconciler.ts'
import { sweepOrphans } from './features/deployments/sweep-orphans.ts'
import { composeInvitationMail } from './features/invitations/compose-mail.ts'
import { sendMail } from './features/mail/send-mail.ts'
import type { Composers } from './features/mail/send-mail.ts'
import { sweepMails } from './features/mail/sweep-mails.ts'
import { checkLedger, checkUsage } from './features/metering/checks.ts'
import { deleteOldTokenBatches } from './features/metering/record-tokens.ts'
import { settleUsage } from './features/metering/settle.ts'
import { deleteExpiredFlows } from './features/sso/store.ts'
import { forgetMinutes } from './features/statistics/store.ts'
import type { App } from './http/app.ts'
import { buildServer } from './server.ts'

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
  await jobs.handle('settle-usage', () => settleUsage(application))
  await jobs.handle('check-usage', () => checkUsage(application, usageReportChecks(application)))
  await jobs.handle('check-ledger', () => checkLedger(application))
  await jobs.handle('sweep-orphans', () => sweepOrphans(application))
  await jobs.handle('forget-expired', async () => {
    await deleteExpired(db, clock())
    await deleteExpiredFlows(db, clock())
    await deleteOldTokenBatches(db, clock())
    await forgetMinutes(db, clock())
  })
  await jobs.handle('apply-billing-event', ({ eventId }) => applyBillingEvent(application, eventId), {
    atOnce: 5,
  })
  await jobs.handle('resume-activation', ({ activationId }) => resumeActivation(application, activationId), {
    atOnce: 5,
  })
  await jobs.handle('sweep-billing-events', async () => {
    await sweepBillingEvents(application)
    await publishSandboxPrices(application)
  })
  await jobs.handle('send-usage', () => reportUsage(application))
  const sandbox = await runPaymentSandbox(application)
  for (const sweep of [sweepMails, sweepOrphans, publishSandboxPrices, checkPrices]) {
    // The schedule repeats the sweeps: what can't be reached now must not keep the server from starting.
    await sweep(application).catch((error: unknown) =>
      application.log.warn({ err: error }, 'the first sweep failed'),
    )
  }
  const reconciler = await runReconciler(application)
  return {
    async stop() {
      await reconciler.stop()
      await sandbox?.close()
    },
  }
}

/**
 * Delivers the sandbox's events by calling the webhook's route within the process: that needs no address at which the server
 * reaches itself, which PUBLIC_URL behind a proxy often is not, and a worker without a port of its own can do it too.
 */
async function runPaymentSandbox(application: Application): Promise<App | null> {
  const { jobs, paymentSandbox } = application
  if (paymentSandbox === null) {
    // Jobs that a time with the sandbox left behind.
    await jobs.handle('deliver-sandbox-webhook', async () => {})
    await jobs.handle('advance-sandbox', async () => {})
    return null
  }
  const app = await buildServer(application)
  const post = async (body: string, signature: string) => {
    const reply = await app.inject({
      method: 'POST',
      url: '/v1/billing/webhook',
      headers: { 'content-type': 'application/json', 'stripe-signature': signature },
      payload: body,
    })
    return reply.statusCode
  }
  await jobs.handle('deliver-sandbox-webhook', ({ eventId }) => paymentSandbox.deliverEvent(eventId, post), {
    atOnce: 10,
  })
  await jobs.handle('advance-sandbox', () => paymentSandbox.tick(post))
  return app
}
