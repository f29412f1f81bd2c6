import { z } from 'zod'

export const installationBody = z
  .object({
    mail_delivery: z
      .enum(['smtp', 'file'])
      .describe('`file` if the server has no mail server and writes each email to a file in its DATA_DIR'),
    password_sign_in: z.boolean().describe('false if only single sign-on is allowed'),
    registration: z
      .enum(['open', 'invited', 'domains'])
      .describe(
        'Who may create an account: everybody, invitees only, or also emails of `registration_domains`',
      ),
    registration_domains: z.array(z.string()).describe('Empty unless `registration` is `domains`'),
    billing: z.boolean().describe('false without billing: no trials, cards and invoices'),
    model_uploads: z.boolean().describe('true if admins may upload model files'),
    is_copy: z
      .boolean()
      .describe(
        'true if the database was restored from a copy, until the operator says whether the original goes on: deployments don’t change, and no emails are sent',
      ),
    accounts_exist: z.boolean().describe('false until somebody creates the first account'),
  })
  .meta({
    id: 'Installation',
    description:
      'How this installation delivers emails, its rules for sign-in and registration, and whether it takes uploads',
  })
