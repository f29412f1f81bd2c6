import { mkdir } from 'node:fs/promises'
import type { Logger } from 'pino'
import type { Application } from './application.ts'
import {
  createIdentityProvider,
  createMailer,
  createPaymentProcessor,
  createRuntime,
  openSandbox,
} from './choose-adapters.ts'
import type { Config } from './config.ts'
import { connectDatabase } from './database/connect.ts'
import { lockDataDirectory } from './database/data-directory-lock.ts'
import { startEmbeddedDatabase } from './database/embedded.ts'
import { migrateDatabase } from './database/migrate.ts'
import { listenToNotifications } from './database/notifications.ts'
import { createSessionCache } from './features/accounts/session-cache.ts'
import { readCatalogFile } from './features/catalog/catalog-file.ts'
import { replaceCatalog } from './features/catalog/replace-catalog.ts'
import { checkSecretKey } from './features/deployments/check-secret-key.ts'
import { readInstanceTypesFile } from './features/deployments/instance-types-file.ts'
import { openInference } from './features/inference/inference.ts'
import { readPrices } from './features/metering/read-prices.ts'
import { openTokenJournal } from './features/metering/token-journal.ts'
import { openQueue } from './jobs/queue.ts'
import { openLog } from './log.ts'
import type { Log } from './log.ts'
import type { ModelRuntime } from './ports/model-runtime.ts'
import { readOrCreateSecretKey } from './secret-key.ts'

export interface Overrides {
  log?: Log | undefined
  clock?: (() => Date) | undefined
  runtime?: ModelRuntime | undefined
}

/** Opens all services of a server. If a step fails, everything opened so far is closed. */
export async function createApplication(config: Config, overrides: Overrides = {}): Promise<Application> {
  const log = overrides.log ?? openLog(config)
  const clock = overrides.clock ?? (() => new Date())
  const opened = new AsyncDisposableStack()
  const lost = new AbortController()
  try {
    await mkdir(config.dataDirectory, { recursive: true })
    const database = config.databaseUrl === null ? await openEmbeddedDatabase(config, log, lost) : null
    const databaseUrl = config.databaseUrl ?? database!.url
    if (runsWorker(config)) {
      // Lock first: if another server holds the lock, it also uses the database, which must keep running.
      const lock = await lockDataDirectory(databaseUrl, config.dataDirectory, {
        onLost: (cause) => lost.abort(new Error('The lock on DATA_DIR was lost.', { cause })),
        // A server of the operator's comes back; the end of the embedded one ends Berth.
        onInterrupted:
          database === null
            ? (error) => log.warn({ err: error }, 'the lock on DATA_DIR is interrupted; reacquiring it')
            : undefined,
      })
      opened.defer(async () => database?.stop())
      opened.defer(() => lock.release())
    } else if (database?.adopted === false) {
      opened.defer(() => database.stop())
    }
    const onIdleError = (error: Error) => log.warn({ err: error }, 'idle database connection lost')
    const migrated = await migrate(databaseUrl, onIdleError)
    const connection = connectDatabase(
      databaseUrl,
      config.databasePoolSize,
      onIdleError,
      config.databaseTimeoutSeconds * 1000,
    )
    opened.defer(() => connection.close())
    const { db } = connection
    if (migrated.length > 0) log.info({ migrations: migrated }, 'database migrated')
    await replaceCatalog(db, readCatalogFile(config.catalogFile).models)
    const instanceTypes = readInstanceTypesFile(config.instanceTypesFile, config.billing.currency)
    const prices = readPrices(config, instanceTypes)
    const notifications = await listenToNotifications(databaseUrl, (error) =>
      log.warn({ err: error }, 'database notifications interrupted'),
    )
    opened.defer(() => notifications.close())
    const sessions = createSessionCache(notifications)
    opened.defer(() => sessions.close())
    const mailer = createMailer(config, log)
    opened.defer(() => mailer.close())
    const jobs = await openQueue(databaseUrl, {
      runsSchedule: config.role !== 'api',
      onError: (error) => log.warn({ err: error }, 'job queue error'),
    })
    opened.defer(() => jobs.close())
    const secretKey = config.secretKey ?? (await readOrCreateSecretKey(config.dataDirectory))
    // ROLE=migrate may run without the key.
    if (config.role !== 'migrate' || config.secretKey !== null) {
      const mayChange = config.role === 'migrate' || config.databaseUrl === null
      await checkSecretKey(db, secretKey, { mayChange, previousKey: config.previousSecretKey })
    }
    const paymentSandbox =
      config.billing.stripe === null
        ? await openSandbox(config, log, clock, connection, jobs, secretKey)
        : null
    opened.defer(async () => paymentSandbox?.close())
    const payments = createPaymentProcessor(config, paymentSandbox, secretKey)
    const runtime = overrides.runtime ?? (await createRuntime(config, instanceTypes, log))
    opened.defer(() => runtime.close())
    const inference = await openInference({ db, clock, log, notifications }, config.inference)
    opened.defer(() => inference.close())
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
      inference,
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

/** Migrates over connections without a timeout, because a migration may build an index or wait for another process that does. */
async function migrate(databaseUrl: string, onIdleError: (error: Error) => void): Promise<string[]> {
  const connection = connectDatabase(databaseUrl, 1, onIdleError, null)
  try {
    return await migrateDatabase(connection.db)
  } finally {
    await connection.close()
  }
}

/** True for roles that run the worker. Only one worker at a time may use a DATA_DIR. */
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
