import { z } from 'zod'

export const installationBody = z
  .object({
    mail_delivery: z
      .enum(['smtp', 'file'])
      .describe('`file` if the server has no mail server and writes each email to a file in its DATA_DIR'),
  })
  .meta({ id: 'Installation' })
