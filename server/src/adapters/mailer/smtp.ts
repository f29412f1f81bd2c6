import { createTransport } from 'nodemailer'
import type { Config } from '../../config/config.ts'
import type { Delivery, Mailer } from '../../ports/mailer.ts'

const seconds = 1_000
const timeouts = {
  dnsTimeout: 10 * seconds,
  connectionTimeout: 10 * seconds,
  greetingTimeout: 10 * seconds,
  socketTimeout: 20 * seconds,
}

/** Sends over a pool of connections to `url` (`smtp://`, `smtps://`). `attemptMilliseconds` is a timeout. */
export function createSmtpMailer(options: {
  url: string
  from: Config['mail']['from']
  attemptMilliseconds?: number | undefined
}): Mailer {
  const { url, from, attemptMilliseconds = 60 * seconds } = options
  const transport = createTransport({
    url,
    pool: true,
    maxConnections: 10,
    // The outbox decides about retries, because a message may have arrived even though the connection broke.
    maxRequeues: 0,
    idleTimeout: 15 * seconds,
    disableFileAccess: true,
    disableUrlAccess: true,
    logger: false,
    ...timeouts,
  })
  return {
    async send(mail) {
      try {
        await transport.sendMail({
          from,
          to: { address: mail.to, name: '' },
          subject: mail.subject,
          text: mail.text,
          html: mail.html,
          messageId: mail.messageId,
          headers: { 'Auto-Submitted': 'auto-generated' },
          // The socket timeout restarts with every byte, so a slow server needs an overall limit.
          signal: AbortSignal.timeout(attemptMilliseconds),
        })
        return { outcome: 'sent' }
      } catch (error) {
        return toDelivery(error)
      }
    },
    async close() {
      transport.close()
    },
  }
}

interface SmtpError extends Error {
  code?: string
  originalCode?: string
  command?: string
  response?: string
  responseCode?: number
}

/** SMTP replies about authentication. The settings are wrong, not the message, so the email is retried. */
const authenticationReplies = new Set([530, 534, 535, 538])

/** A 5xx reply (RFC 5321, 4.2.1) is permanent only for the message; operators can fix other causes. */
function toDelivery(error: unknown): Delivery {
  const { code, originalCode, command, response, responseCode } = error as SmtpError
  const answersMessage = command === 'MAIL FROM' || command === 'RCPT TO' || command === 'DATA'
  if (responseCode !== undefined && responseCode >= 500 && answersMessage) {
    if (!authenticationReplies.has(responseCode))
      return { outcome: 'rejected', reason: response ?? String(responseCode) }
  }
  if (code === 'EENVELOPE' && responseCode === undefined) {
    return { outcome: 'rejected', reason: 'The email address is not valid in SMTP.' }
  }
  if (code === 'EAUTH') {
    return {
      outcome: 'deferred',
      reason: `The mail server rejected Berth’s credentials (${responseCode ?? 'no reply'}). Check MAIL_URL.`,
    }
  }
  if (response !== undefined) return { outcome: 'deferred', reason: response }
  return {
    outcome: 'deferred',
    reason: `The mail server is unreachable (${originalCode ?? code ?? 'unknown'}).`,
  }
}
