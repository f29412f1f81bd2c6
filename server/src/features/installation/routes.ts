import type { Config } from '../../config/config.ts'
import type { App } from '../../http/app.ts'
import { installationBody } from './schemas.ts'

export function installationRoutes(
  app: App,
  { config }: { config: Pick<Config, 'mail' | 'registration' | 'sso'> },
): void {
  app.get(
    '/v1/installation',
    {
      schema: {
        operationId: 'getInstallation',
        summary: 'Get how this installation delivers emails, and who may sign in and register',
        tags: ['Service'],
        security: [],
        response: { 200: installationBody },
      },
    },
    async () => ({
      mail_delivery: config.mail.url === null ? ('file' as const) : ('smtp' as const),
      password_sign_in: config.sso?.only !== true,
      registration: config.registration.mode,
      registration_domains: config.registration.domains,
    }),
  )
}
