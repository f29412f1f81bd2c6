import type { FileHasher } from './base/file-hasher.ts'
import type { Log } from './base/log.ts'
import type { ObservedTime } from './base/observed-time.ts'
import type { Price } from './base/price.ts'
import type { Config } from './config/config.ts'
import type { Notifications } from './database/notifications.ts'
import type { Database } from './database/tables.ts'
import type { Jobs } from './jobs/queue.ts'
import type { IdentityProvider } from './ports/identity-provider.ts'
import type { Mailer } from './ports/mailer.ts'
import type { ModelHub } from './ports/model-hub.ts'
import type { ModelRuntimes } from './ports/model-runtime.ts'
import type { ModelStore } from './ports/model-store.ts'
import type { PaymentProcessor } from './ports/payment-processor.ts'

/** The infrastructure that a feature may depend on: kits and ports. A use case picks what it needs. */
export interface Services {
  config: Config
  log: Log
  clock: () => Date
  observedTime: ObservedTime
  prices: readonly Price[]
  db: Database
  notifications: Notifications
  jobs: Jobs
  mailer: Mailer
  runtimes: ModelRuntimes
  hub: ModelHub
  modelStore: ModelStore
  fileHasher: FileHasher
  payments: PaymentProcessor
  /** null when SSO is not configured */
  identityProvider: IdentityProvider | null
  /** Engine keys and the tokens in emailed links are derived from this key. */
  secretKey: string
}
