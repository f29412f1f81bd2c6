import { InvalidArgumentError } from 'commander'
import { createLog } from '../../base/log.ts'
import { readConfig } from '../../config/config.ts'
import type { HostEngines } from '../../ports/host-engines.ts'
import type { WeightCache } from '../../ports/model-runtime.ts'
import type { Application } from '../../wiring/application.ts'
import { createApplication } from '../../wiring/create-application.ts'

/** The settings and the output of a command. */
export interface Terminal {
  settings: NodeJS.ProcessEnv
  console: Console
}

/** What a command runs with: the services of the server, and the terminal. */
export class Shell {
  exitCode = 0
  readonly #settings: NodeJS.ProcessEnv
  readonly #console: Console

  constructor(settings: NodeJS.ProcessEnv, console: Console) {
    this.#settings = settings
    this.#console = console
  }

  /** Runs one command on the server's services, with the server's settings, and closes them again. */
  async withApplication(
    work: (application: Application) => Promise<void>,
    level: 'warn' | 'error' = 'warn',
  ): Promise<void> {
    const log = createLog({ level }, (line) => this.#console.error(line.trimEnd()))
    // As an API, because the worker alone may lock DATA_DIR.
    const config = { ...readConfig(this.#settings), role: 'api' as const, databasePoolSize: 4 }
    const application = await createApplication(config, { log, keepsCatalog: true })
    try {
      await work(application)
    } finally {
      await application.close()
    }
  }

  /** Runs a command on the cache of this host, if its runtime has one. */
  async withWeightCache(
    work: (cache: WeightCache, application: Application) => Promise<void>,
  ): Promise<void> {
    await this.withApplication(async (application) => {
      const { weightCache } = application.runtimes
      if (weightCache !== undefined) return work(weightCache, application)
      this.fail(
        'This runtime keeps no weights on this host: engines download them where they run. If they share a cache there, a deployment fills it.',
      )
    })
  }

  /** Runs a command on the engines of this host, if its runtime runs them here. */
  async withHostEngines(work: (engines: HostEngines) => Promise<void>): Promise<void> {
    // The report has what the warnings say.
    await this.withApplication(async ({ runtimes: { hostEngines } }) => {
      if (hostEngines !== undefined) return work(hostEngines)
      this.fail('This runtime runs no engines on this host. Install them where it runs them.')
    }, 'error')
  }

  print(text: string): void {
    this.#console.log(text)
  }

  printRows(rows: readonly object[]): void {
    if (rows.length === 0) this.print('Nothing found.')
    else this.#console.table(rows)
  }

  fail(message: string): void {
    this.#console.error(message)
    this.exitCode = 1
  }
}

/** Parses an argument from 0 to `most`. */
export function wholeNumber(most: number): (text: string) => number {
  return (text) => {
    if (!/^\d{1,15}$/.test(text) || Number(text) > most) {
      throw new InvalidArgumentError(`It must be a whole number from 0 to ${most}.`)
    }
    return Number(text)
  }
}

/** Parses the id of an organization or a user. */
export const parseId = wholeNumber(Number.MAX_SAFE_INTEGER)
