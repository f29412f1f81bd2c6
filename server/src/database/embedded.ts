import { isAbsolute, join } from 'node:path'
import { chooseAccount } from './embedded/account.ts'
import { describeBinaries, findBinaries, prepareBinaries } from './embedded/binaries.ts'
import { openCluster } from './embedded/cluster.ts'
import { EmbeddedDatabaseError, messageOf, useOwnDatabase } from './embedded/error.ts'
import { launchPostmaster, withLaunchLock } from './embedded/launch.ts'
import type { Instance } from './embedded/launch.ts'
import { locateHome, writePointer } from './embedded/location.ts'
import { RunningDatabase } from './embedded/running-database.ts'

export { EmbeddedDatabaseError } from './embedded/error.ts'

/** A running embedded PostgreSQL. */
export interface EmbeddedDatabase {
  /** Connection string of the database `berth`, with the role that owns it. The role is no superuser. */
  url: string
  /** True if PostgreSQL was already running, left by a killed server */
  adopted: boolean
  /** PostgreSQL's log line about a process killed in the last minute, with the signal; null without one */
  findCrash(): Promise<string | null>
  /** Stops PostgreSQL with a fast shutdown and waits until it has exited. Does nothing if it has exited. */
  stop(): Promise<void>
}

export interface EmbeddedDatabaseOptions {
  /** Absolute path of DATA_DIR; created if it doesn't exist */
  dataDirectory: string
  /** Receives one sentence at a time, for the operator */
  log(message: string): void
  /** Additional PostgreSQL settings; ignored if the server is already running */
  settings?: Record<string, string> | undefined
  /**
   * Called if PostgreSQL ends for good: it exited without `onInterrupted`, or another process started it on
   * another port. Without `onInterrupted`, the exit of an adopted PostgreSQL is not noticed.
   */
  onExit?: ((error: EmbeddedDatabaseError) => void) | undefined
  /** Called at an unexpected exit and after each failed restart. Without it, PostgreSQL is not restarted. */
  onInterrupted?: ((error: EmbeddedDatabaseError) => void) | undefined
  /** As root: directory for files that PostgreSQL's account can't access; default `/var/lib/berth` */
  stateDirectory?: string | undefined
  /** A directory with PostgreSQL's `bin`, `lib` and `share`, instead of the installed package */
  binariesDirectory?: string | undefined
}

/**
 * Starts or adopts the PostgreSQL of this DATA_DIR; creates its cluster first if needed. Throws
 * `EmbeddedDatabaseError`. `lockDataDirectory` keeps a second server off the same data.
 */
export async function startEmbeddedDatabase(options: EmbeddedDatabaseOptions): Promise<EmbeddedDatabase> {
  if (!isAbsolute(options.dataDirectory)) {
    throw new EmbeddedDatabaseError(`DATA_DIR must be an absolute path, not ${options.dataDirectory}.`)
  }
  const account = await chooseAccount()
  const stateDirectory = options.stateDirectory ?? '/var/lib/berth'
  const home = await locateHome(options.dataDirectory, stateDirectory, account)
  if (home.pointer) {
    options.log(
      `PostgreSQL's user can't access ${options.dataDirectory}; the database is in ${home.directory}`,
    )
  }
  try {
    return await withLaunchLock(home.directory, async (lock) => {
      const installed = await (options.binariesDirectory
        ? describeBinaries(options.binariesDirectory)
        : findBinaries())
      const binaries = await prepareBinaries(installed, account ? stateDirectory : home.directory, account)
      const cluster = await openCluster(home.directory, binaries, account, lock)
      await writePointer(home)
      const instance: Instance = {
        directory: home.directory,
        cluster,
        binaries,
        settings: options.settings ?? {},
        log: (message) => options.log(message),
        logFile: join(home.directory, 'postgresql.log'),
        lockPath: join(home.directory, 'postgresql.lock'),
      }
      return new RunningDatabase(instance, await launchPostmaster(instance, null), options)
    })
  } catch (error) {
    if (error instanceof EmbeddedDatabaseError) throw error
    throw new EmbeddedDatabaseError(
      `PostgreSQL could not be started in ${home.directory} (${messageOf(error)}). Fix this error, start Berth as the owner ` +
        `of the directory, ${useOwnDatabase}.`,
      { cause: error },
    )
  }
}
