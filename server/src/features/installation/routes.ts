import type { Config } from '../../config/config.ts'
import type { App } from '../../http/app.ts'
import type { Services } from '../../services.ts'
import { hasAccounts } from '../accounts/find-account.ts'
import { isCopy } from './identity.ts'
import { installationBody } from './schemas.ts'

export function installationRoutes(
  app: App,
  {
    db,
    config,
    runtimes,
  }: Pick<Services, 'db' | 'runtimes'> & {
    config: Pick<Config, 'billing' | 'mail' | 'registration' | 'sso' | 'uploads'>
  },
): void {
  let accountsExist = false
  let isOriginal = false
  app.get(
    '/v1/installation',
    {
      schema: {
        operationId: 'getInstallation',
        summary:
          'Get how this installation delivers emails, its rules for sign-in and registration, and whether it takes uploads',
        tags: ['Service'],
        security: [],
        response: { 200: installationBody },
      },
    },
    async () => {
      // Later requests need no database.
      accountsExist ||= await hasAccounts(db)
      isOriginal ||= !(await isCopy(db))
      return {
        is_copy: !isOriginal,
        mail_delivery: config.mail.url === null ? ('file' as const) : ('smtp' as const),
        password_sign_in: config.sso?.only !== true,
        registration: config.registration.mode,
        registration_domains: config.registration.domains,
        billing: config.billing.isOn,
        model_uploads: config.uploads.quotaBytes !== null && runtimes.loadsUploads,
        accounts_exist: accountsExist,
      }
    },
  )
}
