import { randomBytes } from 'node:crypto'
import { open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { Application } from './application.ts'
import {
  createHub,
  createIdentityProvider,
  createMailer,
  createModelStore,
  createPaymentProcessor,
  createRuntimes,
  openSandbox,
} from './choose-adapters.ts'
import type { Config } from '../config/config.ts'
import { DatabaseClock, readDatabaseTime } from '../database/database-clock.ts'
import { listenToNotifications } from '../database/notifications.ts'
import { readCatalogFile } from '../features/catalog/sources/file.ts'
import { createSessionCache } from '../features/sessions/session-cache.ts'
import { replaceCatalog } from '../features/catalog/replace-catalog.ts'
import { createEndpointDirectory } from '../features/endpoints/endpoint-directory.ts'
import { checkSecretKey } from '../features/installation/check-secret-key.ts'
import { readInstanceTypesFile } from '../features/placement/instance-types-file.ts'
import { openInference } from '../features/inference/open-inference.ts'
import { assertChargeable } from '../features/metering/prices.ts'
import { readPrices } from '../features/metering/read-prices.ts'
import { TokenJournal } from '../features/metering/token-journal.ts'
import { openQueue } from '../jobs/queue.ts'
import { joinRuntimes } from '../adapters/model-runtime/join-runtimes.ts'
import { createFileHasher } from '../base/file-hasher.ts'
import { openLog } from '../base/log.ts'
import type { Log } from '../base/log.ts'
import type { ModelRuntime } from '../ports/model-runtime.ts'
import type { Database } from '../database/tables.ts'
import { openDatabase } from './open-database.ts'
import { ObservedTime } from '../base/observed-time.ts'

export interface Overrides {
  log?: Log | undefined
  clock?: (() => Date) | undefined
  /** One runtime or several, instead of those of RUNTIME */
  runtime?: ModelRuntime | readonly ModelRuntime[] | undefined
  /** True to leave the catalog as the server wrote it, for programs beside a server. Default: false */
  keepsCatalog?: boolean | undefined
}

/** A generated key has 64 characters. A shorter one, as in SECRET_KEY, may come from an operator. */
const leastCharacters = 32

/** Opens all services of a server. If a step fails, everything opened so far is closed. */
export async function createApplication(config: Config, overrides: Overrides = {}): Promise<Application> {
  const log = overrides.log ?? openLog(config)
  const opened = new AsyncDisposableStack()
  const lost = new AbortController()
  try {
    const { databaseUrl, connection } = await openDatabase({ config, log, opened, lost })
    const { db } = connection
    const clock = overrides.clock ?? (await openClock(db, log, opened))
    const hostTime = new ObservedTime()
    opened.defer(() => hostTime.close())
    // Tests set their clock as if all time were observed.
    const observedTime = overrides.clock === undefined ? new ObservedTime(() => clock().getTime()) : hostTime
    opened.defer(() => observedTime.close())
    if (overrides.keepsCatalog !== true) {
      const { models } = readCatalogFile(config.catalogFile)
      await replaceCatalog(db, models, { keepsChanges: !config.hasOwnCatalog })
    }
    const instanceTypes = readInstanceTypesFile(config.instanceTypesFile)
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
    const secretKey = await openSecretKey(config, db)
    const paymentSandbox =
      config.billing.stripe === null
        ? await openSandbox(config, log, clock, connection, jobs, secretKey)
        : null
    opened.defer(async () => paymentSandbox?.close())
    const payments = createPaymentProcessor(config, paymentSandbox, secretKey)
    assertChargeable(prices, clock(), payments.maxPrices)
    const modelStore = await createModelStore(config, log, clock)
    opened.defer(() => modelStore.close())
    const endpoints = createEndpointDirectory({ db, config, secretKey })
    const runtimeServices = { log, clock, observedTime: hostTime, modelStore, secretKey, endpoints }
    const runtimes =
      overrides.runtime === undefined
        ? await createRuntimes(config, instanceTypes, runtimeServices)
        : joinRuntimes([overrides.runtime].flat(), log)
    opened.defer(() => runtimes.close())
    const hub = createHub(config)
    opened.defer(() => hub.close())
    const fileHasher = createFileHasher()
    opened.defer(() => fileHasher.close())
    const tokens = await TokenJournal.open({ db, clock, log, prices }, config.dataDirectory)
    opened.defer(() => tokens.close())
    // Closes before the journal, in which it records what aborted requests used.
    const inference = await openInference(
      { db, clock, config, log, notifications, prices, runtimes, secretKey },
      config.inference,
    )
    opened.defer(() => inference.close())
    return {
      config,
      log,
      clock,
      observedTime,
      db,
      prices,
      notifications,
      sessions,
      jobs,
      mailer,
      runtimes,
      hub,
      modelStore,
      fileHasher,
      inference,
      tokens,
      payments,
      paymentSandbox,
      identityProvider: await createIdentityProvider(config, log),
      secretKey,
      lost: lost.signal,
      close: () => opened.disposeAsync(),
    }
  } catch (error) {
    await opened.disposeAsync()
    throw error
  }
}

/** The database's time */
async function openClock(db: Database, log: Log, opened: AsyncDisposableStack): Promise<() => Date> {
  const clock = await DatabaseClock.open(() => readDatabaseTime(db), log)
  opened.defer(() => clock.close())
  return () => clock.now()
}

/** Reads the key for engine keys and links, and checks that other processes use the same one. */
async function openSecretKey(config: Config, db: Database): Promise<string> {
  const secretKey = config.secretKey ?? (await readOrCreateSecretKey(config.dataDirectory))
  // ROLE=migrate may run without the key.
  if (config.role !== 'migrate' || config.secretKey !== null) {
    const mayChange = config.role === 'migrate' || config.databaseUrl === null
    await checkSecretKey(db, secretKey, { mayChange, previousKey: config.previousSecretKey })
  }
  return secretKey
}

/**
 * Reads the key from `DATA_DIR/secret-key`, or creates it at the first start for the server's user only.
 * Throws if the file is damaged: a new key would void all links, engine keys and authenticator apps' secrets.
 */
async function readOrCreateSecretKey(dataDirectory: string): Promise<string> {
  const path = join(dataDirectory, 'secret-key')
  const existing = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (existing !== null) {
    const key = existing.trim()
    if (key.length >= leastCharacters) return key
    throw new Error(
      `${path} is damaged: it has ${key.length} characters instead of at least ${leastCharacters}. Restore it from the backup of DATA_DIR.`,
    )
  }
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
