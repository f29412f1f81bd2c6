/** What Berth needs to send email. */

export interface OutgoingMail {
  /** A single address */
  to: string
  subject: string
  text: string
  html: string
  /** With angle brackets. Retries use the same one. */
  messageId: string
}

/** The result of an attempt: `rejected` is permanent (an SMTP 5xx), `deferred` is worth a retry. */
export type Delivery =
  | { outcome: 'sent' }
  | { outcome: 'deferred'; reason: string }
  | { outcome: 'rejected'; reason: string }

export interface Mailer {
  /** Makes one attempt to send an email. SMTP and network errors are returned, never thrown. */
  send(mail: OutgoingMail): Promise<Delivery>
  close(): Promise<void>
}
