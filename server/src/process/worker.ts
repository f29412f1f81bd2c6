import { setTimeout as delay } from 'node:timers/promises'
import type { Application } from '../wiring/application.ts'
import type { Job } from '../jobs/queue.ts'
import { accountJobs } from '../features/accounts/jobs.ts'
import { auditJobs } from '../features/audit/jobs.ts'
import { composeBudgetMail } from '../features/billing/budgets/alert-mail.ts'
import { budgetJobs } from '../features/billing/budgets/jobs.ts'
import { composeTrialExhaustedMail } from '../features/billing/limits/exhausted-trials.ts'
import { billingJobs } from '../features/billing/jobs.ts'
import { checkPrices, publishSandboxPrices } from '../features/billing/processor/publish-prices.ts'
import { usageReportChecks } from '../features/billing/reports/usage-report-checks.ts'
import { deploymentJobs } from '../features/deployments/jobs.ts'
import { orphanCheck } from '../features/deployments/fleet/orphan-check.ts'
import { runReconciler } from '../features/deployments/fleet/run-reconciler.ts'
import { reportEngine } from '../features/deployments/serving/report-engine.ts'
import { runScaler } from '../features/deployments/scaling/run-scaler.ts'
import { sleepOverBudget } from '../features/deployments/changes/sleep-over-budget.ts'
import { sweepOrphans } from '../features/deployments/fleet/sweep-orphans.ts'
import { idempotencyJobs } from '../features/idempotency/jobs.ts'
import { isCopy } from '../features/installation/identity.ts'
import { composeInvitationMail } from '../features/invitations/compose-invitation-mail.ts'
import { alertJobs } from '../features/alerts/jobs.ts'
import { mailJobs } from '../features/mail/jobs.ts'
import type { MailComposers } from '../features/mail/send-mail.ts'
import { sweepMails } from '../features/mail/sweep-mails.ts'
import { meteringJobs } from '../features/metering/jobs.ts'
import { operatorJobs } from '../features/operators/jobs.ts'
import { composeSuspendedMail } from '../features/operators/suspend.ts'
import { factorComposers } from '../features/second-factors/factor-mails.ts'
import { ownModelJobs } from '../features/own-models/jobs.ts'
import { secondFactorJobs } from '../features/second-factors/jobs.ts'
import { sessionJobs } from '../features/sessions/jobs.ts'
import {
  composeFreshOrganizationMail,
  composePasswordChangedMail,
  composePasswordResetMail,
} from '../features/sign-in/account-mails.ts'
import { composeEmailVerification } from '../features/sign-in/email-verification.ts'
import { signInJobs } from '../features/sign-in/jobs.ts'
import { identityComposers } from '../features/sso/identity-mails.ts'
import { ssoJobs } from '../features/sso/jobs.ts'
import { statisticsJobs } from '../features/statistics/jobs.ts'
import { paymentSandboxJobs } from '../wiring/payment-sandbox-jobs.ts'

/** Lists the background jobs of every feature. */
export function listJobs(application: Application): Job[] {
  const composers: MailComposers = {
    invitation: (invitationId, mailId) => composeInvitationMail(application, invitationId, mailId),
    password_reset: (resetId) => composePasswordResetMail(application, resetId),
    password_changed: (userId) => composePasswordChangedMail(application, userId),
    email_verification: (userId) => composeEmailVerification(application, userId),
    ...factorComposers(application),
    ...identityComposers(application),
    fresh_organization: (userId) => composeFreshOrganizationMail(application, userId),
    organization_suspended: (organizationId) => composeSuspendedMail(application, organizationId),
    trial_exhausted: (organizationId) => composeTrialExhaustedMail(application, organizationId),
    budget_alert: (alertId) => composeBudgetMail(application, alertId),
  }
  return [
    ...mailJobs(application, composers),
    ...alertJobs(application),
    ...auditJobs(application),
    ...accountJobs(application),
    ...sessionJobs(application),
    ...secondFactorJobs(application),
    ...signInJobs(application),
    ...ssoJobs(application),
    ...meteringJobs(application, [...usageReportChecks(application), orphanCheck(application)]),
    ...billingJobs(application),
    ...budgetJobs(application, (budget) => sleepOverBudget(application, budget)),
    ...ownModelJobs(application),
    ...idempotencyJobs(application),
    ...deploymentJobs(application),
    ...operatorJobs(application),
    ...statisticsJobs(application),
    ...paymentSandboxJobs(application),
  ]
}

const copyPollMilliseconds = 2_000

/**
 * Runs the background work of every feature until it is stopped. In a copied database it waits until a person
 * says what the copy is: the work is the original's.
 */
export async function startWorker(application: Application): Promise<{ stop(): Promise<void> }> {
  if (!(await isCopy(application.db))) return work(application)
  application.log.error(
    'this database is a copy of another one, so the worker does nothing: run `npm run admin -- installation take-over` if the original is gone, or `… installation fork` if it goes on',
  )
  const stopping = new AbortController()
  const working = waitForDecision(application, stopping.signal)
  return {
    async stop() {
      stopping.abort()
      await (await working)?.stop()
    },
  }
}

/** Starts the work once the database is no copy anymore; null if it was stopped first. */
async function waitForDecision(application: Application, signal: AbortSignal) {
  while (!signal.aborted) {
    await delay(copyPollMilliseconds, undefined, { signal }).catch(() => undefined)
    const isDecided = await isCopy(application.db).then(
      (copy) => !copy,
      () => false,
    )
    if (isDecided && !signal.aborted) return work(application)
  }
  return null
}

async function work(application: Application): Promise<{ stop(): Promise<void> }> {
  const { jobs, log } = application
  await jobs.work(listJobs(application))
  for (const sweep of [sweepMails, sweepOrphans, publishSandboxPrices, checkPrices]) {
    // The server starts even if a sweep fails: the schedule repeats it.
    await sweep(application).catch((error: unknown) => log.warn({ err: error }, 'the first sweep failed'))
  }
  application.runtimes.onEngineLost((engineId) => {
    reportEngine(application.db, engineId, 'lost').catch((error: unknown) =>
      log.warn({ err: error, instance: engineId }, 'could not check a deployment that lost its engine'),
    )
  })
  application.runtimes.onEngineStarted((engineId) => {
    reportEngine(application.db, engineId, 'started').catch((error: unknown) =>
      log.warn({ err: error, instance: engineId }, 'could not look after an engine that has started'),
    )
  })
  const reconciler = await runReconciler(application)
  const scaler = runScaler(application)
  const cluster = application.runtimes.ownCluster?.supervise()
  return {
    async stop() {
      await cluster?.stop()
      await scaler.stop()
      await reconciler.stop()
    },
  }
}
