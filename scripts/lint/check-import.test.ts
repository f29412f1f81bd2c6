import { expect, test } from 'vitest'
import { checkImport } from './check-import.ts'

/** One forbidden import for each border: importer, specifier and a part of the reason. */
const forbidden = [
  // Server, from the bottom up
  ['server/src/roles.ts', './ports/mailer.ts', 'the layer "ports"'],
  ['server/src/config/sso.ts', '../http/app.ts', 'the layer "http"'],
  ['server/src/ports/mailer.ts', '../config.ts', 'the layer "base"'],
  ['server/src/database/tables.ts', '../features/catalog/tables.ts', 'the layer "catalog"'],
  ['server/src/jobs/queue.ts', '../services.ts', 'the layer "services"'],
  ['server/src/http/app.ts', '../jobs/queue.ts', 'the layer "jobs"'],
  ['server/src/gateway/requests.ts', '../config.ts', 'the layer "base"'],
  ['server/src/services.ts', './features/metering/prices.ts', 'the layer "metering"'],
  ['server/src/services.ts', './application.ts', 'the layer "application"'],
  ['server/src/adapters/mailer/smtp.ts', '../../features/mail/send-mail.ts', 'the layer "mail"'],
  [
    'server/src/adapters/mailer/smtp.ts',
    '../identity-provider/oidc.ts',
    'the layer "identity-provider adapters"',
  ],
  ['server/src/adapters/mailer/smtp.ts', 'fastify', 'know Fastify'],
  ['server/src/application.ts', './adapters/mailer/smtp.ts', 'the layer "mailer adapters"'],
  ['server/src/create-application.ts', './server.ts', 'the layer "server"'],
  ['server/src/create-application.ts', './features/catalog/store.ts', 'owns the store'],
  ['server/src/worker.ts', './adapters/mailer/smtp.ts', 'the layer "mailer adapters"'],
  ['server/src/contract.ts', './services.ts', 'the layer "services"'],
  // Features
  ['server/src/features/mail/send-mail.ts', '../../application.ts', 'the layer "application"'],
  ['server/src/features/mail/send-mail.ts', '../../adapters/mailer/smtp.ts', 'the layer "mailer adapters"'],
  ['server/src/features/mail/send-mail.ts', '../accounts/link-token.ts', 'the layer "accounts"'],
  ['server/src/features/catalog/find-variant.ts', '../deployments/plan.ts', 'the layer "deployments"'],
  ['server/src/features/organizations/create.ts', '../accounts/profile.ts', 'the layer "accounts"'],
  ['server/src/features/metering/checks.ts', '../billing/account-usage.ts', 'the layer "billing"'],
  ['server/src/features/metering/checks.ts', '../deployments/orphan-check.ts', 'the layer "deployments"'],
  ['server/src/features/accounts/profile.ts', '../invitations/errors.ts', 'the layer "invitations"'],
  ['server/src/features/invitations/errors.ts', '../sso/errors.ts', 'the layer "sso"'],
  ['server/src/features/billing/activate.ts', '../deployments/get.ts', 'the layer "deployments"'],
  ['server/src/features/deployments/get.ts', '../statistics/get.ts', 'the layer "statistics"'],
  ['server/src/features/statistics/get.ts', '../inference/targets.ts', 'the layer "inference"'],
  ['server/src/features/deployments/get.ts', '../billing/store.ts', 'owns the store'],
  ['server/src/features/deployments/get.ts', '../billing/routes.ts', 'registers routes'],
  ['server/src/features/deployments/get.ts', '../billing/jobs.ts', 'registers routes'],
  ['server/src/features/deployments/get.ts', '../../http/app.ts', 'know HTTP'],
  ['server/src/features/deployments/get.ts', 'fastify', 'know Fastify'],
  [
    'server/src/features/deployments/reconcile/step.ts',
    '../../inference/targets.ts',
    'the layer "inference"',
  ],
  ['server/src/new-file.ts', './config.ts', 'Add this file'],
  // Other workspaces
  ['server/src/choose-adapters.ts', '../../payment-sandbox/src/clock.ts', 'the layer "payment sandbox"'],
  ['server/src/features/billing/activate.ts', '@berth/payment-sandbox', 'the layer "@berth/payment-sandbox"'],
  ['payment-sandbox/src/clock.ts', '../../server/src/config.ts', 'the layer "base"'],
  ['engine/src/server.ts', '../../server/src/errors.ts', 'the layer "base"'],
  ['server/src/config.ts', '../../engine/src/errors.ts', 'the layer "engine"'],
  ['bench/bench.ts', '../server/src/create-application.ts', 'the layer "wiring"'],
  // Console
  ['console/src/format.ts', './text/index.ts', 'the layer "console text"'],
  ['console/src/routing/page.ts', '../api/client.ts', 'the layer "console api"'],
  ['console/src/text/index.ts', '../format.ts', 'the layer "console base"'],
  ['console/src/api/client.ts', '../components/button.tsx', 'the layer "console components"'],
  ['console/src/components/button.tsx', '../domain/session/session.ts', 'the layer "console domain"'],
  ['console/src/domain/session/session.ts', '../../shell/sidebar.tsx', 'the layer "console shell"'],
  ['console/src/shell/sidebar.tsx', '../features/usage/page.tsx', 'the layer "console usage"'],
  ['console/src/features/usage/page.tsx', '../billing/page.tsx', 'the layer "console billing"'],
  ['console/src/features/usage/page.tsx', '../../router.tsx', 'the layer "console app"'],
  ['console/src/router.tsx', '../../server/src/roles.ts', 'the layer "base"'],
] as const

test.each(forbidden)('%s may not import %s', (importer, specifier, reason) => {
  expect(checkImport(importer, specifier)).toContain(reason)
})

test.each([
  ['server/src/config.ts', './config/sso.ts'],
  ['server/src/config.ts', 'node:path'],
  ['server/src/features/mail/send-mail.ts', './store.ts'],
  ['server/src/features/deployments/reconcile/step.ts', '../lease-store.ts'],
  ['server/src/features/deployments/routes.ts', '../../http/app.ts'],
  ['server/src/features/deployments/routes.ts', 'fastify'],
  ['server/src/server.ts', './features/mail/routes.ts'],
  ['server/src/worker.ts', './features/mail/jobs.ts'],
  ['server/src/choose-adapters.ts', '@berth/payment-sandbox'],
  ['console/src/features/usage/page.tsx', '../../../../server/src/contract.ts'],
  ['console/src/router.tsx', './features/usage/page.tsx'],
  ['scripts/demo.ts', '../server/src/config.ts'],
])('%s may import %s', (importer, specifier) => {
  expect(checkImport(importer, specifier)).toBeNull()
})
