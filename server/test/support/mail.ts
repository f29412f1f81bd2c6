import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { simpleParser } from 'mailparser'
import type { ParsedMail } from 'mailparser'
import { SMTPServer } from 'smtp-server'
import type { SMTPServerOptions, SMTPServerSession } from 'smtp-server'
import { expect } from 'vitest'

export interface ReceivedMail extends ParsedMail {
  /** The addresses of RCPT TO, whatever the headers say */
  recipients: string[]
}

/** What the server does with one message, the next or the next one to an address, instead of taking it. */
export type Trouble = { to?: string } & (
  | { at: 'RCPT' | 'DATA'; code: number; text: string }
  /** Refuses the message with its own text, as filters do */
  | { at: 'DATA'; code: number; quote: true }
  /** Takes the whole message, then cuts the connection without a reply */
  | { at: 'DATA'; cut: true }
  /** Takes the whole message and never replies */
  | { at: 'DATA'; silent: true }
)

/** A real SMTP server on the loopback interface, which keeps what it gets. */
export interface MailServer {
  url: string
  /** Every message that arrived whole, also where the client was not told so */
  received: ReceivedMail[]
  /** The troubles that the next messages meet, one each; after them all goes well again */
  troubles: Trouble[]
  /** Waits for the n-th (1) message to an address. */
  waitForMail(recipient: string, count?: number): Promise<ReceivedMail>
  /** Closes the port; `start` opens the same one again. */
  stop(): Promise<void>
  start(): Promise<void>
}

export async function startMailServer(options: SMTPServerOptions = {}): Promise<MailServer> {
  const received: ReceivedMail[] = []
  const troubles: Trouble[] = []
  let port = 0
  let server: SMTPServer

  function refuse(trouble: { code: number; text?: string }, quoted = ''): Error {
    const text = trouble.text ?? quoted.replaceAll(/\s+/g, ' ')
    return Object.assign(new Error(text), { responseCode: trouble.code })
  }

  function takeTrouble(at: Trouble['at'], recipients: string[]): Trouble | undefined {
    const index = troubles.findIndex(({ to }) => to === undefined || recipients.includes(to))
    return troubles[index]?.at === at ? troubles.splice(index, 1)[0] : undefined
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
    const trouble = takeTrouble('DATA', recipients)
    const mail = await simpleParser(stream)
    if (trouble !== undefined && 'code' in trouble) return done(refuse(trouble, mail.text))
    received.push({ ...mail, recipients })
    if (trouble === undefined) return done()
    if ('cut' in trouble) cut(session)
  }

  async function start(): Promise<void> {
    server = new SMTPServer({
      disabledCommands: ['STARTTLS', 'AUTH'],
      closeTimeout: 10,
      ...options,
      onRcptTo({ address }, _session, done) {
        const trouble = takeTrouble('RCPT', [address])
        return trouble !== undefined && 'code' in trouble ? done(refuse(trouble)) : done()
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

  await start()
  return {
    url: `smtp://127.0.0.1:${port}`,
    received,
    troubles,
    async waitForMail(recipient, count = 1) {
      const find = () => received.filter(({ recipients }) => recipients.includes(recipient))[count - 1]
      await expect.poll(find, { timeout: 15_000, interval: 20 }).toBeDefined()
      return find()!
    },
    start,
    stop: () => new Promise((resolve) => server.close(resolve)),
  }
}

/** The address of the only link in a mail's text, which stands alone on a line. */
export function linkIn(mail: ParsedMail): URL {
  const links = (mail.text ?? '').split('\n').filter((line) => /^https?:\/\/\S+$/.test(line))
  expect(links).toHaveLength(1)
  return new URL(links[0]!)
}
