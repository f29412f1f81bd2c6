import type { Services } from '../../services.ts'
import type { Delivery } from '../../ports/mailer.ts'
import { sanitizeDeliveryError } from './sanitize-delivery-error.ts'
import type { MailText } from './format-mail.ts'
import { isPastRetryDeadline, retryDelaySeconds } from './retry-schedule.ts'
import { finishMail, markSent, rescheduleMail, leaseMail } from './store.ts'
import type { Mail, MailKind } from './store.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'jobs' | 'log' | 'mailer'>

/** Writes the text of a mail at the moment it is sent; null when nobody wants it any more. */
export type MailComposer = (subjectId: number, mailId: number) => Promise<MailText | null>
export type Composers = Record<MailKind, MailComposer>

/** Longer than any attempt: a mailer gives up after a minute. */
const leaseSeconds = 90

/**
 * Tries once to send a mail of the outbox, and records how that went: sent, failed for good, no longer wanted, or to be tried
 * again after a wait that grows. A process that dies after the mail server took the mail and before that is recorded sends it
 * a second time, with the same Message-ID: SMTP has no way to ask.
 */
export async function sendMail(application: Deps, mailId: number, composers: Composers): Promise<void> {
  const { db, clock, log } = application
  const mail = await leaseMail(db, mailId, leaseSeconds)
  if (mail === undefined) return
  const attempt = await deliver(application, mail, composers[mail.kind])
  if (attempt === null) {
    await finishMail(db, mail, { status: 'superseded' })
    return
  }
  if (attempt.outcome === 'sent') {
    await markSent(db, mail.id, clock())
    return
  }
  const reason = sanitizeDeliveryError(attempt.reason)
  log.warn({ mail: mail.id, kind: mail.kind, attempt: mail.attempts, reason }, 'a mail was not sent')
  if (attempt.outcome === 'rejected' || isPastRetryDeadline(mail.created_at, clock())) {
    await finishMail(db, mail, { status: 'failed', reason })
  } else {
    await sendLater(application, mail, reason)
  }
}

async function deliver(application: Deps, mail: Mail, compose: MailComposer): Promise<Delivery | null> {
  try {
    const text = await compose(mail.subject_id, mail.id)
    if (text === null) return null
    return await application.mailer.send({ ...text, to: mail.recipient, messageId: mail.message_id })
  } catch (error) {
    application.log.error({ err: error, mail: mail.id, kind: mail.kind }, 'an attempt to send a mail broke')
    return { outcome: 'deferred', reason: 'Berth had a problem of its own.' }
  }
}

async function sendLater({ db, jobs }: Deps, mail: Mail, reason: string): Promise<void> {
  const wait = retryDelaySeconds(mail.attempts)
  await db.transaction().execute(async (transaction) => {
    if (await rescheduleMail(transaction, mail, reason, wait)) {
      await jobs.enqueue(transaction, 'send-mail', { mailId: mail.id }, { afterSeconds: wait })
    }
  })
}
