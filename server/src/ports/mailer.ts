/** What Berth asks of a way to send mail. */

export interface OutgoingMail {
  /** One address */
  to: string
  subject: string
  text: string
  html: string
  /** With its angle brackets; the same at every attempt */
  messageId: string
}

/** How an attempt ended: `rejected` is for good (a 5xx of SMTP), `deferred` may work later. `reason` holds no link. */
export type Delivery =
  | { outcome: 'sent' }
  | { outcome: 'deferred'; reason: string }
  | { outcome: 'rejected'; reason: string }

export interface Mailer {
  /** Tries once to hand a mail over; never throws for what SMTP or the network says. */
  send(mail: OutgoingMail): Promise<Delivery>
  close(): Promise<void>
}
