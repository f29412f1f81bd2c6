import { z } from 'zod'

/** How emails are sent. */
export interface MailConfig {
  /** null to write emails to files in `dataDirectory` */
  url: string | null
  from: { name: string; address: string }
  /** How long a response waits for the first attempt at its email */
  patienceMilliseconds: number
}

/** `ada@example.com` or `Ada <ada@example.com>`, on one line. */
const mailbox = z
  .string()
  .trim()
  .regex(
    /^(?:[^<>@\p{Cc}]*<[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/u,
    'must be an email address such as Berth <berth@example.com>',
  )
  .transform((text) => {
    const [, name = '', address = text] = /^"?(.*?)"?\s*<(.+)>$/.exec(text) ?? []
    return { name, address }
  })

export const mailSettings = {
  MAIL_URL: z
    .url({
      protocol: /^smtps?$/,
      error: 'must be an address such as smtp://user:password@mail.example.com:587',
      abort: true,
    })
    .refine(
      (text) => new URL(text).hostname !== '',
      'must name the mail server, as in smtp://mail.example.com:587',
    )
    .optional(),
  MAIL_FROM: mailbox.optional(),
}

export function readMail(settings: z.output<z.ZodObject<typeof mailSettings>>, publicUrl: URL): MailConfig {
  return {
    url: settings.MAIL_URL ?? null,
    from: settings.MAIL_FROM ?? { name: 'Berth', address: `berth@${publicUrl.hostname}` },
    patienceMilliseconds: 2_000,
  }
}
