import { randomBytes } from 'node:crypto'
import { mkdir, open, readFile, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pino } from 'pino'
import type { Logger } from 'pino'
import { createOidcProvider } from './adapters/identity-provider/oidc.ts'
import { createFileMailer } from './adapters/mailer/file.ts'
import { createSmtpMailer } from './adapters/mailer/smtp.ts'
import { createLocalRuntime } from './adapters/model-runtime/local/runtime.ts'
import { createXinferenceRuntime } from './adapters/model-runtime/xinference/runtime.ts'
import { installationOf } from './adapters/payment-processor/installation.ts'
import { createSandbox } from './adapters/payment-processor/sandbox/sandbox.ts'
import type { PaymentSandbox } from './adapters/payment-processor/sandbox/sandbox.ts'
import { createStripeProcessor } from './adapters/payment-processor/stripe/processor.ts'
import type { Config } from './config.ts'
import type { KubernetesConfig } from './config/runtimes.ts'
import { connectDatabase } from './database/connect.ts'
import { lockDataDirectory } from './database/data-directory-lock.ts'
import { startEmbeddedDatabase } from './database/embedded.ts'
import { migrateDatabase } from './database/migrate.ts'
import { listenToNotifications } from './database/notifications.ts'
import type { Notifications } from './database/notifications.ts'
import type { Database } from './database/tables.ts'
import { createSessionCache } from './features/accounts/sessions.ts'
import type { SessionCache } from './features/accounts/sessions.ts'
import { readCatalogFile } from './features/catalog/catalog-file.ts'
import { replaceCatalog } from './features/catalog/store.ts'
import { pickInstanceTypes, readInstanceTypesFile } from './features/deployments/instance-types-file.ts'
import { openEngineConnections } from './features/inference/engines.ts'
import type { EngineConnections } from './features/inference/engines.ts'
import type { Price } from './features/metering/prices.ts'
import { readPrices } from './features/metering/read-prices.ts'
import { openTokenJournal } from './features/metering/token-journal.ts'
import type { TokenJournal } from './features/metering/token-journal.ts'
import { openQueue } from './jobs/queue.ts'
import type { Jobs } from './jobs/queue.ts'
import type { IdentityProvider } from './ports/identity-provider.ts'
import type { Mailer } from './ports/mailer.ts'
import type { InstanceType, ModelRuntime } from './ports/model-runtime.ts'
import type { PaymentProcessor } from './ports/payment-processor.ts'

/** All that the features work with. */
export interface Application {
  config: Config
  log: Logger
  clock: () => Date
  db: Database
  /** What usage costs */
  prices: readonly Price[]
  notifications: Notifications
  sessions: SessionCache
  jobs: Jobs
  mailer: Mailer
  runtime: ModelRuntime
  engines: EngineConnections
  tokens: TokenJournal
  payments: PaymentProcessor
  /** null: payments are Stripe's */
  paymentSandbox: PaymentSandbox | null
  /** null: nobody signs in through a provider */
  identityProvider: IdentityProvider | null
  /** What engine keys are derived from */
  secretKey: string
  /** Fires when something that the server can't do without is gone; the process must end */
  lost: AbortSignal
  /** Closes everything in the reverse order of its opening; engines go on running. */
  close(): Promise<void>
}

export interface Overrides {
  log?: Logger | undefined
  clock?: (() => Date) | undefined
  runtime?: ModelRuntime | undefined
}

/** Opens everything that `config` asks for, by hand and in order. What fails half-way closes what was opened. */
export async function createApplication(config: Config, overrides: Overrides = {}): Promise<Application> {
  const log = overrides.log ?? createLog(config)
  const clock = overrides.clock ?? (() => new Date())
  const opened = new AsyncDisposableStack()
  const lost = new AbortController()
  try {
    await mkdir(config.dataDirectory, { recursive: true })
    const database = config.databaseUrl === null ? await openEmbeddedDatabase(config, log, lost) : null
    const databaseUrl = config.databaseUrl ?? database!.url
    if (runsWorker(config)) {
      // Before the database's stop is deferred: where the lock is another server's, so is the database.
      const lock = await lockDataDirectory(databaseUrl, config.dataDirectory, (cause) =>
        lost.abort(
          new Error('The database ended the session that keeps other servers off DATA_DIR.', { cause }),
        ),
      )
      opened.defer(async () => database?.stop())
      opened.defer(() => lock.release())
    }
    const connection = connectDatabase(databaseUrl, config.databasePoolSize, (error) =>
      log.warn({ err: error }, 'an idle database connection was lost'),
    )
    opened.defer(() => connection.close())
    const { db } = connection
    const migrated = await migrateDatabase(db)
    if (migrated.length > 0) log.info({ migrations: migrated }, 'the database was brought up to date')
    await replaceCatalog(db, readCatalogFile(config.catalogFile).models)
    const instanceTypes = readInstanceTypesFile(config.instanceTypesFile, config.billing.currency)
    const prices = readPrices(config, instanceTypes)
    const notifications = await listenToNotifications(databaseUrl, (error) =>
      log.warn({ err: error }, 'notifications were interrupted'),
    )
    opened.defer(() => notifications.close())
    const sessions = createSessionCache(notifications)
    opened.defer(() => sessions.close())
    const mailer = createMailer(config, log)
    opened.defer(() => mailer.close())
    const jobs = await openQueue(databaseUrl, {
      runsSchedule: config.role !== 'api',
      onError: (error) => log.warn({ err: error }, 'the job queue has a problem'),
    })
    opened.defer(() => jobs.close())
    const secretKey = config.secretKey ?? (await readOrMakeSecretKey(config.dataDirectory))
    const paymentSandbox =
      config.billing.stripe === null ? openSandbox(config, log, clock, db, jobs, secretKey) : null
    const payments = paymentSandbox?.processor ?? openStripe(config, secretKey)
    opened.defer(() => payments.close())
    const runtime = overrides.runtime ?? (await createRuntime(config, instanceTypes, log))
    opened.defer(() => runtime.close())
    const engines = await openEngineConnections({ db, clock, log, notifications }, config.inference)
    opened.defer(() => engines.close())
    const tokens = openTokenJournal({ db, clock, log }, config.dataDirectory)
    opened.defer(() => tokens.close())
    return {
      config,
      log,
      clock,
      db,
      prices,
      notifications,
      sessions,
      jobs,
      mailer,
      runtime,
      engines,
      tokens,
      payments,
      paymentSandbox,
      identityProvider: createIdentityProvider(config, log),
      secretKey,
      lost: lost.signal,
      close: () => opened.disposeAsync(),
    }
  } catch (error) {
    await opened.disposeAsync()
    throw error
  }
}

/** Writes JSON lines to stdout. */
export function createLog({ logLevel }: Config): Logger {
  // The driver hangs the whole connection on the errors of its pool.
  const options = { level: logLevel, name: 'berth', redact: { paths: ['err.client'], remove: true } }
  const stdout = pino.destination({ dest: 1, sync: true })
  let writable = true
  stdout.once('close', () => {
    writable = false
  })
  // Lines go out together, ten times a second: one write for each would cost a busy server a tenth of its time.
  let lines = ''
  const write = () => {
    if (lines !== '' && writable) stdout.write(lines)
    lines = ''
  }
  setInterval(write, 100).unref()
  process.once('exit', write)
  const gather = (line: string) => {
    lines += line
    if (lines.length >= 8_192) write()
  }
  return pino(options, { write: gather })
}

function openSandbox(
  { publicUrl }: Config,
  log: Logger,
  clock: () => Date,
  db: Database,
  jobs: Jobs,
  secretKey: string,
): PaymentSandbox {
  return createSandbox({
    db,
    clock,
    secretKey,
    publicUrl,
    installation: installationOf(secretKey),
    enqueueDelivery: (transaction, eventId) =>
      jobs.enqueue(transaction, 'deliver-sandbox-webhook', { eventId }),
    onError: (error) => log.error({ err: error }, 'the payment sandbox has a problem'),
  })
}

function openStripe({ billing }: Config, secretKey: string): PaymentProcessor {
  if (billing.stripe === null) throw new Error('There are no settings for Stripe')
  return createStripeProcessor({
    name: 'stripe',
    ...billing.stripe,
    installation: installationOf(secretKey),
  })
}

/** True for the roles that do background work; of these, one process at a time holds a DATA_DIR. */
function runsWorker({ role }: Config): boolean {
  return role === 'all' || role === 'worker'
}

function openEmbeddedDatabase({ dataDirectory }: Config, log: Logger, lost: AbortController) {
  return startEmbeddedDatabase({
    dataDirectory,
    log: (message) => log.info(message),
    onExit: (error) => lost.abort(error),
  })
}

function createRuntime(
  config: Config,
  instanceTypes: readonly InstanceType[],
  log: Logger,
): Promise<ModelRuntime> {
  if (config.xinference !== null) {
    return createXinferenceRuntime({ ...config.xinference, instanceTypes, logger: log })
  }
  if (config.kubernetes !== null) return openKubernetes(config, config.kubernetes, instanceTypes, log)
  return createLocalRuntime({
    dataDirectory: config.dataDirectory,
    catalogDirectory: dirname(config.catalogFile),
    huggingFace: config.huggingFace,
    memoryBytes: config.localEngine.memoryLimitBytes ?? undefined,
    expectedEngines: config.localEngine.expectedEngines,
    proxy: config.proxy,
    environment: process.env,
    logger: log,
  })
}

async function openKubernetes(
  { huggingFace, proxy }: Config,
  kubernetes: KubernetesConfig,
  instanceTypes: readonly InstanceType[],
  logger: Logger,
): Promise<ModelRuntime> {
  const there = pickInstanceTypes(instanceTypes, kubernetes.instanceTypes)
  // The client is large, and nobody else needs it.
  const { createKubernetesRuntime } = await import('./adapters/model-runtime/kubernetes/runtime.ts')
  return createKubernetesRuntime({ ...kubernetes, instanceTypes: there, huggingFace, proxy, logger })
}

function createIdentityProvider({ sso, publicUrl }: Config, logger: Logger): IdentityProvider | null {
  if (sso === null) return null
  const redirectUri = new URL(`/v1/sso/callback/${sso.provider}`, publicUrl).href
  return createOidcProvider({ ...sso, redirectUri, logger })
}

function createMailer({ mail: { url, from }, dataDirectory }: Config, log: Logger): Mailer {
  return url === null
    ? createFileMailer({ directory: join(dataDirectory, 'mail'), from, log })
    : createSmtpMailer({ url, from })
}

/** The key in `DATA_DIR/secret-key`, made at the first start; readable by the server's own user alone. */
async function readOrMakeSecretKey(dataDirectory: string): Promise<string> {
  const path = join(dataDirectory, 'secret-key')
  const existing = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (existing !== null) return existing.trim()
  const key = randomBytes(32).toString('hex')
  const file = await open(`${path}.new`, 'w', 0o600)
  try {
    await file.writeFile(`${key}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(`${path}.new`, path)
  return key
}
