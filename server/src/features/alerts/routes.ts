import type { App } from '../../http/app.ts'
import { noContent } from '../../http/openapi/responses.ts'
import type { Services } from '../../services.ts'
import { getWebhook, removeWebhook, rotateSecret, setWebhook, testWebhook } from './manage-webhook.ts'
import {
  updateWebhookBody,
  toWebhookBody,
  webhookBody,
  webhookSecretBody,
  webhookTestBody,
  webhookWithSecretBody,
} from './schemas.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'log' | 'secretKey'>

const tags = ['Organization']
const manage = { permission: 'updateOrganization' } as const
const path = '/v1/organization/alert-webhook'

/** Where an organization gets its alerts. */
export function webhookRoutes(app: App, deps: Deps): void {
  app.get(
    path,
    {
      config: manage,
      schema: {
        operationId: 'getAlertWebhook',
        summary: 'Get the alert webhook of your current organization',
        tags,
        response: { 200: webhookBody },
        errors: ['not_found'],
      },
    },
    async ({ viewer }) => toWebhookBody(await getWebhook(deps, viewer)),
  )

  app.patch(
    path,
    {
      config: manage,
      schema: {
        operationId: 'updateAlertWebhook',
        summary: 'Update where your current organization gets its alerts',
        description:
          'Alerts are signed JSON in the format of Standard Webhooks: `{type, timestamp, data}` with the headers `webhook-id`, ' +
          '`webhook-timestamp` and `webhook-signature`. Their types are `budget.reached`, `deployment.failed`, `deployment.lost`, ' +
          '`deployment.recovered`, `capacity.refused` and `webhook.test`. A delivery that fails is retried for three days, with the same `webhook-id`. The secret of a new webhook is ' +
          'shown once.',
        tags,
        body: updateWebhookBody,
        response: { 200: webhookWithSecretBody },
      },
    },
    async ({ body, viewer }) => {
      const { secret, ...status } = await setWebhook(deps, viewer, body.url)
      return { ...toWebhookBody(status), secret }
    },
  )

  app.delete(
    path,
    {
      config: manage,
      schema: {
        operationId: 'deleteAlertWebhook',
        summary: 'Delete the alert webhook of your current organization',
        tags,
        response: { 204: noContent },
        errors: ['not_found'],
      },
    },
    async ({ viewer }, reply) => {
      await removeWebhook(deps, viewer)
      return reply.code(204).send(null)
    },
  )

  app.post(
    `${path}/secret`,
    {
      config: manage,
      schema: {
        operationId: 'rotateAlertWebhookSecret',
        summary: 'Rotate the secret that signs your organization’s alerts',
        description: 'The new secret is shown once. The old one signs nothing from now on.',
        tags,
        response: { 200: webhookSecretBody },
        errors: ['not_found'],
      },
    },
    async ({ viewer }) => ({ secret: await rotateSecret(deps, viewer) }),
  )

  app.post(
    `${path}/test`,
    {
      config: manage,
      schema: {
        operationId: 'testAlertWebhook',
        summary: 'Send a test alert to the alert webhook of your current organization',
        description:
          'The alert is delivered in the background: `last_alert` of the webhook tells the outcome.',
        tags,
        response: { 200: webhookTestBody },
        errors: ['not_found', 'rate_limited'],
      },
    },
    async ({ viewer }) => ({ id: await testWebhook(deps, viewer) }),
  )
}
