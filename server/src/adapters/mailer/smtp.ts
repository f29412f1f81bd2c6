import { createTransport } from 'nodemailer'
import type { Config } from '../../config.ts'
import type { Delivery, Mailer } from '../../ports/mailer.ts'

const seconds = 1_000
const timeouts = {
  dnsTimeout: 10 * seconds,
  connectionTimeout: 10 * seconds,
  greetingTimeout: 10 * seconds,
  socketTimeout: 20 * seconds,
}

/**
 * Sends mail through the server at `url`, `smtp://` or `smtps://`, over a few connections that are kept open for a while. An
 * attempt ends after `attemptMilliseconds` (a minute) at the latest.
 */
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
    // A message whose connection broke may have arrived: the outbox decides about another attempt, and waits before it.
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
          // The timeouts above begin anew with every byte; a server that drips must end too.
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

/** Replies that ask for authentication or find it wanting: our settings are at fault, so no message is given up. */
const authenticationReplies = new Set([530, 534, 535, 538])

/**
 * What an error of nodemailer means. A 5xx (RFC 5321, 4.2.1) is for good where it answers the message itself; one that answers
 * our connection, greeting or sign-in is about the settings, which an operator can mend.
 */
function toDelivery(error: unknown): Delivery {
  const { code, originalCode, command, response, responseCode } = error as SmtpError
  const answersMessage = command === 'MAIL FROM' || command === 'RCPT TO' || command === 'DATA'
  if (responseCode !== undefined && responseCode >= 500 && answersMessage) {
    if (!authenticationReplies.has(responseCode))
      return { outcome: 'rejected', reason: response ?? String(responseCode) }
  }
  if (code === 'EENVELOPE' && responseCode === undefined) {
    return { outcome: 'rejected', reason: 'This address can not be used in SMTP.' }
  }
  if (code === 'EAUTH') {
    return {
      outcome: 'deferred',
      reason: `The mail server did not let Berth sign in (${responseCode ?? 'no answer'}).`,
    }
  }
  if (response !== undefined) return { outcome: 'deferred', reason: response }
  return {
    outcome: 'deferred',
    reason: `The mail server can not be reached (${originalCode ?? code ?? 'unknown'}).`,
  }
}
