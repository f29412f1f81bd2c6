import { z } from 'zod'
import { timestamp, url } from '../../http/schemas.ts'
import type { WebhookStatus } from './manage-webhook.ts'

const maxUrlLength = 2_000

export const updateWebhookBody = z
  .object({
    url: z
      .url({ protocol: /^https?$/, error: 'Must be an https address.', abort: true })
      .max(maxUrlLength)
      .refine((text) => {
        const { username, password, hash } = new URL(text)
        return `${username}${password}${hash}` === ''
      }, 'Must have no user, no password and no fragment.')
      .describe('An https address. Names must resolve to public addresses only'),
  })
  .meta({ id: 'WebhookUpdate', examples: [{ url: 'https://alerts.example.com/berth' }] })

const lastAlert = z
  .object({
    id: z.string().describe('The header `webhook-id`'),
    type: z.string().describe('E.g. `budget.reached`'),
    at: timestamp.describe('When it was caused'),
    status: z.enum(['pending', 'delivered', 'failed']).describe('`pending` is tried again'),
    attempts: z.int().describe('Attempts so far'),
    error: z.string().nullable().describe('Why the last attempt failed; null if it did not'),
  })
  .meta({ id: 'WebhookAlert', description: 'An alert that was sent to a webhook' })

const members = {
  url: url.describe('Where alerts go'),
  created_at: timestamp.describe('When the webhook was set first'),
  updated_at: timestamp.describe('When its URL or its secret was set last'),
  last_alert: lastAlert.nullable().describe('The latest alert; null before the first'),
}

const secret = z.string().meta({ examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'] })

export const webhookBody = z
  .object(members)
  .meta({ id: 'Webhook', description: 'Where an organization gets its alerts' })

export const webhookWithSecretBody = z
  .object({
    ...members,
    secret: secret.nullable().describe('The signing secret of a new webhook; else null'),
  })
  .meta({ id: 'WebhookWithSecret', description: 'A webhook, with its secret if it is new' })

export const webhookSecretBody = z
  .object({ secret: secret.describe('The new signing secret') })
  .meta({ id: 'WebhookSecret', description: 'The secret that signs alerts' })

export const webhookTestBody = z
  .object({ id: z.string().describe('The header `webhook-id` of the test alert') })
  .meta({ id: 'WebhookTest', description: 'A test alert' })

export function toWebhookBody({ webhook, latest }: WebhookStatus): z.input<typeof webhookBody> {
  return {
    url: webhook.url,
    created_at: webhook.created_at.toISOString(),
    updated_at: webhook.updated_at.toISOString(),
    last_alert:
      latest === undefined
        ? null
        : {
            id: latest.id,
            type: latest.type,
            at: latest.created_at.toISOString(),
            status: latest.status,
            attempts: latest.attempts,
            error: latest.last_error,
          },
  }
}
