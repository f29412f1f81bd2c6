import { setTimeout as delay } from 'node:timers/promises'
import { lastLines } from './cluster.ts'
import { EmbeddedDatabaseError, messageOf, systemErrorCode } from './error.ts'
import { lockFile } from '../../base/file-lock.ts'
import { exitOf, launchPostmaster, urlOf, withLaunchLock } from './launch.ts'
import type { Instance, Postmaster } from './launch.ts'
import { isPostmaster, readLog, trimLog } from './postmaster.ts'

interface Events {
  /** PostgreSQL has ended and does not return */
  onExit?: ((error: EmbeddedDatabaseError) => void) | undefined
  /** PostgreSQL exited, or could not be started again. Without it, nothing starts it again. */
  onInterrupted?: ((error: EmbeddedDatabaseError) => void) | undefined
}

const stopTimeoutSeconds = 30
const trimMs = 60_000
/** How often this process checks an adopted PostgreSQL, which is not its child */
const watchMs = 500
const firstPauseMs = 100
const longestPauseMs = 5_000
/** A PostgreSQL that has run for so long is started again at once. */
const stableMs = 60_000
/** A line of the log explains what happens for so long. */
const recentMs = 60_000
const crashLineMs = 5_000
const crashPollMs = 100
const timestampLength = '2026-01-01 00:00:00.000 UTC'.length

/** An embedded PostgreSQL until it is stopped. If it exits unexpectedly, it is started again. */
export class RunningDatabase {
  readonly url: string
  readonly adopted: boolean
  readonly #instance: Instance
  readonly #events: Events
  readonly #trimming: NodeJS.Timeout
  readonly #stopping = new AbortController()
  #postmaster: Postmaster
  #startedAt = performance.now()
  #pauseMs = firstPauseMs
  #restarting: Promise<void> = Promise.resolve()
  #stopped: Promise<void> | undefined

  constructor(instance: Instance, postmaster: Postmaster, events: Events) {
    this.url = urlOf(instance, postmaster.port)
    this.adopted = postmaster.child === undefined
    this.#instance = instance
    this.#events = events
    this.#postmaster = postmaster
    this.#trimming = setInterval(() => void trimLog(instance.logFile).catch(() => undefined), trimMs).unref()
    this.#watchFor(postmaster)
  }

  async findCrash(): Promise<string | null> {
    // The connections of a killed process end before PostgreSQL notices and writes the line.
    for (let waited = 0; waited < crashLineMs; waited += crashPollMs) {
      await delay(crashPollMs)
      const lines = (await this.#readLog()).split('\n')
      const crash = lines.findLast((line) => line.includes(' was terminated by signal '))
      if (crash !== undefined && Date.now() - Date.parse(crash.slice(0, timestampLength)) < recentMs)
        return crash
    }
    return null
  }

  stop(): Promise<void> {
    this.#stopping.abort()
    clearInterval(this.#trimming)
    return (this.#stopped ??= this.#restarting.then(() => this.#stop()))
  }

  #watchFor({ pid, child }: Postmaster): void {
    if (child !== undefined) {
      const onExit = () => void this.#onExit(`exited unexpectedly (${exitOf(child)})`)
      // It may have exited since it answered.
      if (exitOf(child) === undefined) child.once('exit', onExit)
      else onExit()
    } else if (this.#events.onInterrupted !== undefined) {
      void this.#waitUntilGone(pid).then(() => this.#onExit(`(process ${pid}) exited unexpectedly`))
    }
  }

  async #waitUntilGone(pid: number): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted && (await isPostmaster(pid, this.#instance.cluster.data))) {
      await delay(watchMs, undefined, { signal, ref: false }).catch(() => undefined)
    }
  }

  async #onExit(what: string): Promise<void> {
    if (this.#stopping.signal.aborted) return
    const { onInterrupted, onExit } = this.#events
    const restarted = Promise.withResolvers<void>()
    this.#restarting = restarted.promise
    const error = new EmbeddedDatabaseError(
      `PostgreSQL ${what}. Its log ${this.#instance.logFile} ends with:\n${lastLines(await this.#readLog())}`,
    )
    if (onInterrupted === undefined) onExit?.(error)
    else {
      onInterrupted(error)
      await this.#restart(onInterrupted)
    }
    restarted.resolve()
  }

  #readLog(): Promise<string> {
    return readLog(this.#instance.logFile, 0).catch(() => '')
  }

  /** Starts PostgreSQL again on its port, because connection pools know that port. */
  async #restart(onFailure: (error: EmbeddedDatabaseError) => void): Promise<void> {
    const { signal } = this.#stopping
    if (performance.now() - this.#startedAt > stableMs) this.#pauseMs = firstPauseMs
    for (;;) {
      await delay(this.#pauseMs, undefined, { signal }).catch(() => undefined)
      if (signal.aborted) return
      this.#pauseMs = Math.min(this.#pauseMs * 2, longestPauseMs)
      try {
        return this.#accept(await this.#launch(this.#postmaster.port))
      } catch (error) {
        onFailure(
          error instanceof EmbeddedDatabaseError
            ? error
            : new EmbeddedDatabaseError(`PostgreSQL could not be started again (${messageOf(error)}).`, {
                cause: error,
              }),
        )
      }
    }
  }

  #launch(port: number): Promise<Postmaster> {
    return withLaunchLock(this.#instance.directory, () => launchPostmaster(this.#instance, port))
  }

  #accept(postmaster: Postmaster): void {
    const { port } = this.#postmaster
    if (postmaster.port !== port) {
      const message = `Another Berth process has started the PostgreSQL in ${this.#instance.directory} on another port.`
      return this.#events.onExit?.(new EmbeddedDatabaseError(message))
    }
    this.#postmaster = postmaster
    this.#startedAt = performance.now()
    this.#instance.log(`PostgreSQL runs again (process ${postmaster.pid})`)
    this.#watchFor(postmaster)
  }

  async #stop(): Promise<void> {
    const { cluster, directory, lockPath } = this.#instance
    const { pid, child } = this.#postmaster
    for (const signal of ['SIGINT', 'SIGQUIT', 'SIGKILL'] as const) {
      const alive = child ? exitOf(child) === undefined : await isPostmaster(pid, cluster.data)
      if (alive) sendSignal(pid, signal)
      const lock = await lockFile(lockPath, alive ? stopTimeoutSeconds : 5)
      await lock?.close()
      if (lock || !alive) return
      this.#instance.log(`PostgreSQL did not stop on ${signal} within ${stopTimeoutSeconds} seconds`)
    }
    throw new EmbeddedDatabaseError(`PostgreSQL in ${directory} (process ${pid}) could not be stopped.`)
  }
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (systemErrorCode(error) !== 'ESRCH') throw error
  }
}
