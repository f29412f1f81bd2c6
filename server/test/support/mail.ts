import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { simpleParser } from 'mailparser'
import type { ParsedMail } from 'mailparser'
import { SMTPServer } from 'smtp-server'
import type { SMTPServerOptions, SMTPServerSession } from 'smtp-server'
import { expect } from 'vitest'

export interface ReceivedMail extends ParsedMail {
  /** The addresses of RCPT TO; headers are ignored */
  recipients: string[]
}

/** Makes the server fail the next message to an address. */
export type MailFault = { to: string } & (
  | { at: 'RCPT' | 'DATA'; code: number; text: string }
  /** Rejects the message and quotes its text, as spam filters do */
  | { at: 'DATA'; code: number; quote: true }
  /** Receives the whole message, then drops the connection without a reply */
  | { at: 'DATA'; cut: true }
  /** Receives the whole message and never replies */
  | { at: 'DATA'; silent: true }
)

/** A real SMTP server on the loopback interface that keeps the emails it receives. */
export interface MailServer {
  url: string
  /** Every complete message, even if the client got no confirmation, without those that verify an address */
  received: ReceivedMail[]
  /** The messages with a link that verifies an address. Every registration sends one. */
  verifications: ReceivedMail[]
  /** Faults, one message each. All other messages are delivered. */
  faults: MailFault[]
  /** Waits for the n-th message to an address. Default: the first. */
  waitForMail(recipient: string, count?: number): Promise<ReceivedMail>
  /**
   * Waits for the n-th message that verifies an address, and returns the token of its link. Default: the
   * first.
   */
  waitForVerification(recipient: string, count?: number): Promise<string>
  /** Closes the port. `start` opens the same port again. */
  stop(): Promise<void>
  start(): Promise<void>
}

export async function startMailServer(options: SMTPServerOptions = {}): Promise<MailServer> {
  const received: ReceivedMail[] = []
  const verifications: ReceivedMail[] = []
  const faults: MailFault[] = []
  let port = 0
  let server: SMTPServer

  function refuse(fault: { code: number; text?: string }, quoted = ''): Error {
    const text = fault.text ?? quoted.replaceAll(/\s+/g, ' ')
    return Object.assign(new Error(text), { responseCode: fault.code })
  }

  function takeFault(at: MailFault['at'], recipients: string[]): MailFault | undefined {
    const index = faults.findIndex(({ to }) => recipients.includes(to))
    return faults[index]?.at === at ? faults.splice(index, 1)[0] : undefined
  }

  function cut({ id }: SMTPServerSession): void {
    type Connection = { session: SMTPServerSession; _socket: Socket }
    for (const { session, _socket } of server.connections as unknown as Set<Connection>) {
      if (session.id === id) _socket.destroy()
    }
  }

  async function take(
    stream: Readable,
    session: SMTPServerSession,
    done: (error?: Error | null) => void,
  ): Promise<void> {
    const recipients = session.envelope.rcptTo.map(({ address }) => address)
    const fault = takeFault('DATA', recipients)
    const mail = await simpleParser(stream)
    if (fault !== undefined && 'code' in fault) return done(refuse(fault, mail.text))
    const list = mail.subject?.startsWith('Verify your email') ? verifications : received
    list.push({ ...mail, recipients })
    if (fault === undefined) return done()
    if ('cut' in fault) cut(session)
  }

  async function start(): Promise<void> {
    server = new SMTPServer({
      disabledCommands: ['STARTTLS', 'AUTH'],
      closeTimeout: 10,
      ...options,
      onRcptTo({ address }, _session, done) {
        const fault = takeFault('RCPT', [address])
        return fault !== undefined && 'code' in fault ? done(refuse(fault)) : done()
      },
      onData(stream, session, done) {
        void take(stream, session, done)
      },
    })
    server.on('error', () => {})
    server.listen(port, '127.0.0.1')
    await once(server.server, 'listening')
    port = (server.server.address() as AddressInfo).port
  }

  async function waitFor(list: ReceivedMail[], recipient: string, count: number): Promise<ReceivedMail> {
    const find = () => list.filter(({ recipients }) => recipients.includes(recipient))[count - 1]
    await expect.poll(find).toBeDefined()
    return find()!
  }

  await start()
  return {
    url: `smtp://127.0.0.1:${port}`,
    received,
    verifications,
    faults,
    waitForMail: (recipient, count = 1) => waitFor(received, recipient, count),
    async waitForVerification(recipient, count = 1) {
      const link = linkIn(await waitFor(verifications, recipient, count))
      expect(link.pathname).toBe('/verify-email')
      return link.searchParams.get('token') ?? ''
    },
    start,
    stop: () => new Promise((resolve) => server.close(resolve)),
  }
}

/** Returns the only link in an email's text, which is on a separate line. */
export function linkIn(mail: ParsedMail): URL {
  const links = (mail.text ?? '').split('\n').filter((line) => /^https?:\/\/\S+$/.test(line))
  expect(links).toHaveLength(1)
  return new URL(links[0]!)
}
