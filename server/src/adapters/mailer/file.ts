import { mkdir, open, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import type { Logger } from 'pino'
import type { Config } from '../../config/config.ts'
import type { Mailer, OutgoingMail } from '../../ports/mailer.ts'

/** Without a mail server: writes emails to .eml files that only the server's user can read; logs the path. */
export function createFileMailer(options: {
  directory: string
  from: Config['mail']['from']
  log: Pick<Logger, 'info'>
}): Mailer {
  const { directory, from, log } = options
  const transport = createTransport({
    streamTransport: true,
    buffer: true,
    newline: 'windows',
    disableFileAccess: true,
    disableUrlAccess: true,
  })

  async function compose(mail: OutgoingMail): Promise<Buffer> {
    const { message } = await transport.sendMail({
      from,
      to: { address: mail.to, name: '' },
      subject: mail.subject,
      messageId: mail.messageId,
      headers: { 'Auto-Submitted': 'auto-generated' },
      alternatives: [{ raw: textPart('plain', mail.text) }, { raw: textPart('html', mail.html) }],
    })
    if (!Buffer.isBuffer(message)) throw new Error('nodemailer returned no message buffer')
    return message
  }

  return {
    async send(mail) {
      const content = await compose(mail)
      const time = new Date().toISOString().replaceAll(':', '-')
      const id = mail.messageId.replace(/@.*/, '').replaceAll(/[^\w-]/g, '')
      const path = join(directory, `${time}-${id}.eml`)
      await mkdir(directory, { recursive: true, mode: 0o700 })
      const file = await open(`${path}.new`, 'wx', 0o600)
      try {
        await file.writeFile(content)
        await file.sync()
      } finally {
        await file.close()
      }
      await rename(`${path}.new`, path)
      log.info({ file: path }, 'MAIL_URL is not set; wrote the email to a file')
      return { outcome: 'sent' }
    },
    async close() {
      transport.close()
    },
  }
}

/** An unencoded MIME part. Quoted-printable would break links that are copied from the file. */
function textPart(subtype: 'plain' | 'html', text: string): string {
  return [
    `Content-Type: text/${subtype}; charset=utf-8`,
    'Content-Transfer-Encoding: 8bit',
    '',
    text.replaceAll('\n', '\r\n'),
  ].join('\r\n')
}
