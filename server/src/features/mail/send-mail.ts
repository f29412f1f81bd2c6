import type { Services } from '../../services.ts'
import type { Delivery } from '../../ports/mailer.ts'
import { isUndeliverable } from '../../base/undeliverable.ts'
import { sanitizeDeliveryError } from './sanitize-delivery-error.ts'
import type { MailText } from './format-mail.ts'
import { isPastRetryDeadline, retryDelaySeconds } from './retry-schedule.ts'
import { finishMail, markSent, rescheduleMail, leaseMail } from './store.ts'
import type { Mail } from './store.ts'
import type { MailKind } from './tables.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'jobs' | 'log' | 'mailer'>

/** Writes the text of an email when it is sent; null when the email is no longer needed. */
export type MailComposer = (subjectId: number, mailId: number) => Promise<MailText | null>
export type MailComposers = Record<MailKind, MailComposer>

/** Longer than any attempt: a mailer times out after a minute. */
const leaseSeconds = 90

/**
 * Makes one attempt to send an email. A crash after the mail server accepted it sends it twice with the same
 * Message-ID, because SMTP cannot tell whether a message arrived.
 */
export async function sendMail(deps: Deps, mailId: number, composers: MailComposers): Promise<void> {
  const { db, clock, log } = deps
  const mail = await leaseMail(db, mailId, leaseSeconds)
  if (mail === undefined) return
  const attempt = await deliver(deps, mail, composers[mail.kind])
  if (attempt === null) {
    await finishMail(db, mail, { status: 'superseded' })
    return
  }
  if (attempt.outcome === 'sent') {
    await markSent(db, mail.id, clock())
    return
  }
  const reason = sanitizeDeliveryError(attempt.reason)
  log.warn({ mail: mail.id, kind: mail.kind, attempt: mail.attempts, reason }, 'an email was not sent')
  if (attempt.outcome === 'rejected' || isPastRetryDeadline(mail.created_at, clock())) {
    await finishMail(db, mail, { status: 'failed', reason })
  } else {
    await retryLater(deps, mail, reason)
  }
}

async function deliver(deps: Deps, mail: Mail, compose: MailComposer): Promise<Delivery | null> {
  try {
    const text = await compose(mail.subject_id, mail.id)
    if (text === null) return null
    if (isUndeliverable(mail.recipient)) {
      return { outcome: 'rejected', reason: 'Addresses that end in .invalid receive no mail.' }
    }
    return await deps.mailer.send({ ...text, to: mail.recipient, messageId: mail.message_id })
  } catch (error) {
    deps.log.error({ err: error, mail: mail.id, kind: mail.kind }, 'sending an email threw an error')
    return { outcome: 'deferred', reason: 'Internal error in Berth. The server log has details.' }
  }
}

async function retryLater({ db, jobs }: Deps, mail: Mail, reason: string): Promise<void> {
  const delay = retryDelaySeconds(mail.attempts)
  await db.transaction().execute(async (transaction) => {
    if (await rescheduleMail(transaction, mail, reason, delay)) {
      await jobs.enqueue(transaction, 'send-mail', { mailId: mail.id }, { afterSeconds: delay })
    }
  })
}
