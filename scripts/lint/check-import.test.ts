import { expect, test } from 'vitest'
import { checkImport } from './check-import.ts'

/** One forbidden import for each border: importer, specifier and a part of the reason. */
const forbidden = [
  // Server, from the bottom up
  ['server/src/base/roles.ts', '../ports/mailer.ts', 'the layer "ports"'],
  ['server/src/config/sso.ts', '../http/app.ts', 'the layer "http"'],
  ['server/src/ports/mailer.ts', '../base/errors.ts', 'the layer "base"'],
  ['server/src/database/tables.ts', '../features/catalog/tables.ts', 'the layer "catalog"'],
  ['server/src/jobs/queue.ts', '../services.ts', 'the layer "services"'],
  ['server/src/http/app.ts', '../jobs/queue.ts', 'the layer "jobs"'],
  ['server/src/gateway/requests.ts', '../base/errors.ts', 'the layer "base"'],
  ['server/src/services.ts', './features/metering/prices.ts', 'the layer "metering"'],
  ['server/src/services.ts', './wiring/application.ts', 'the layer "wiring"'],
  ['server/src/adapters/mailer/smtp.ts', '../../features/mail/send-mail.ts', 'the layer "mail"'],
  [
    'server/src/adapters/mailer/smtp.ts',
    '../identity-provider/oidc.ts',
    'the layer "identity-provider adapters"',
  ],
  ['server/src/adapters/mailer/smtp.ts', 'fastify', 'know Fastify'],
  ['server/src/wiring/create-application.ts', '../process/server.ts', 'the layer "process"'],
  ['server/src/wiring/create-application.ts', '../features/catalog/store.ts', 'owns the store'],
  ['server/src/process/worker.ts', '../adapters/mailer/smtp.ts', 'the layer "mailer adapters"'],
  // Features
  ['server/src/features/mail/send-mail.ts', '../../wiring/application.ts', 'the layer "wiring"'],
  ['server/src/features/mail/send-mail.ts', '../../adapters/mailer/smtp.ts', 'the layer "mailer adapters"'],
  ['server/src/features/mail/send-mail.ts', '../accounts/mark-email-verified.ts', 'the layer "accounts"'],
  ['server/src/features/catalog/find-variant.ts', '../deployments/plan.ts', 'the layer "deployments"'],
  ['server/src/features/organizations/create.ts', '../accounts/profile.ts', 'the layer "accounts"'],
  ['server/src/features/metering/checks.ts', '../billing/account-usage.ts', 'the layer "billing"'],
  ['server/src/features/metering/checks.ts', '../deployments/orphan-check.ts', 'the layer "deployments"'],
  ['server/src/features/accounts/profile.ts', '../invitations/errors.ts', 'the layer "invitations"'],
  ['server/src/features/invitations/errors.ts', '../sso/errors.ts', 'the layer "sso"'],
  [
    'server/src/features/billing/processor/activate.ts',
    '../../deployments/get-own-deployment.ts',
    'the layer "deployments"',
  ],
  [
    'server/src/features/deployments/get-own-deployment.ts',
    '../statistics/get-statistics.ts',
    'the layer "statistics"',
  ],
  ['server/src/features/statistics/get-statistics.ts', '../inference/targets.ts', 'the layer "inference"'],
  ['server/src/features/deployments/get-own-deployment.ts', '../billing/store.ts', 'owns the store'],
  ['server/src/features/deployments/get-own-deployment.ts', '../billing/routes.ts', 'registers routes'],
  ['server/src/features/deployments/get-own-deployment.ts', '../billing/jobs.ts', 'registers routes'],
  ['server/src/features/deployments/get-own-deployment.ts', '../../http/app.ts', 'know HTTP'],
  ['server/src/features/deployments/get-own-deployment.ts', 'fastify', 'know Fastify'],
  [
    'server/src/features/deployments/reconcile/step.ts',
    '../../inference/targets.ts',
    'the layer "inference"',
  ],
  [
    'server/src/features/billing/account/store.ts',
    '../reports/report-usage.ts',
    'the layer "billing/reports"',
  ],
  ['server/src/features/deployments/state/store.ts', '../fleet/step.ts', 'the layer "deployments/fleet"'],
  ['server/src/features/deployments/state/store.ts', '../routes.ts', 'the layer "deployments"'],
  ['server/src/features/inference/routes.ts', '../deployments/state/store.ts', 'owns the store'],
  ['server/src/features/inference/routes.ts', '../deployments/changes/sleep.ts', '"deployments/changes"'],
  ['server/src/new-file.ts', './base/errors.ts', 'Add this file'],
  // Other workspaces
  [
    'server/src/wiring/choose-adapters.ts',
    '../../../payment-sandbox/src/clock.ts',
    'the layer "payment sandbox"',
  ],
  [
    'server/src/features/billing/processor/activate.ts',
    '@berth/payment-sandbox',
    'the layer "@berth/payment-sandbox"',
  ],
  ['payment-sandbox/src/clock.ts', '../../server/src/config/config.ts', 'the layer "config"'],
  ['engine/src/http/server.ts', '../../../server/src/base/errors.ts', 'the layer "base"'],
  ['server/src/config/config.ts', '../../../engine/src/base/errors.ts', 'the layer "engine base"'],
  ['bench/bench.ts', '../server/src/wiring/create-application.ts', 'the layer "wiring"'],
  ['bench/bench.ts', '../scripts/demo.ts', 'may not import scripts/demo.ts'],
  // Engine
  ['engine/src/base/state.ts', '../model/load-model.ts', 'the layer "engine model"'],
  ['engine/src/model/sequences.ts', '../chat/answer.ts', 'the layer "engine chat"'],
  ['grammar/src/grammar.ts', '../../engine/src/chat/tools.ts', 'the layer "engine chat"'],
  ['engine/src/chat/tools.ts', '../http/server.ts', 'the layer "engine http"'],
  ['engine/src/http/server.ts', '@berth/grammar/grammar.ts', 'the layer "@berth/grammar"'],
  ['engine/src/supervisor/main.ts', '../model/load-model.ts', 'the layer "engine model"'],
  ['engine/src/main.ts', './supervisor/main.ts', 'the layer "engine supervisor"'],
  ['engine/src/new-file.ts', './base/log.ts', 'Add this file'],
  // Console
  ['console/src/contract.ts', './text/index.ts', 'the layer "console text"'],
  ['console/src/format.ts', './text/index.ts', 'the layer "console text"'],
  ['console/src/routing/page.ts', '../api/client.ts', 'the layer "console api"'],
  ['console/src/text/index.ts', '../format.ts', 'the layer "console base"'],
  ['console/src/api/client.ts', '../components/button.tsx', 'the layer "console components"'],
  ['console/src/components/button.tsx', '../domain/session/session.ts', 'the layer "console domain"'],
  ['console/src/domain/session/session.ts', '../../shell/sidebar.tsx', 'the layer "console shell"'],
  ['console/src/shell/sidebar.tsx', '../features/usage/page.tsx', 'the layer "console usage"'],
  ['console/src/features/usage/page.tsx', '../billing/page.tsx', 'the layer "console billing"'],
  ['console/src/features/usage/page.tsx', '../../router.tsx', 'the layer "console app"'],
  ['console/src/router.tsx', '../../server/src/base/roles.ts', 'the layer "base"'],
] as const

test.each(forbidden)('%s may not import %s', (importer, specifier, reason) => {
  expect(checkImport(importer, specifier)).toContain(reason)
})

test.each([
  ['server/src/config/config.ts', './sso.ts'],
  ['server/src/config/config.ts', 'node:path'],
  ['server/src/features/mail/send-mail.ts', './store.ts'],
  ['server/src/features/deployments/reconcile/step.ts', '../lease-store.ts'],
  ['server/src/features/deployments/routes.ts', '../../http/app.ts'],
  ['server/src/features/deployments/routes.ts', 'fastify'],
  ['server/src/process/server.ts', './features/mail/routes.ts'],
  ['server/src/process/worker.ts', './features/mail/jobs.ts'],
  ['server/src/wiring/choose-adapters.ts', '@berth/payment-sandbox'],
  ['console/src/features/usage/page.tsx', '../../contract.ts'],
  ['console/src/router.tsx', './features/usage/page.tsx'],
  ['scripts/demo.ts', '../server/src/config/config.ts'],
])('%s may import %s', (importer, specifier) => {
  expect(checkImport(importer, specifier)).toBeNull()
})
