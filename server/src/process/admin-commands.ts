import { randomUUID } from 'node:crypto'
import { open, rm } from 'node:fs/promises'
import { Command, CommanderError, InvalidArgumentError } from 'commander'
import type { Application } from '../wiring/application.ts'
import { ConfigError, readConfig } from '../config/config.ts'
import { exportDatabase } from '../database/export.ts'
import { createApplication } from '../wiring/create-application.ts'
import { ApplicationError } from '../base/errors.ts'
import { closeOrganizationForGood } from '../features/operators/close-organization.ts'
import { disableUser } from '../features/operators/disable-user.ts'
import { examine } from '../features/operators/doctor.ts'
import { findActions, findOrganizations, findUsers } from '../features/operators/find.ts'
import {
  enableCatalogModel,
  importCatalogModel,
  listCatalog,
  removeCatalogModel,
} from '../features/operators/manage-catalog.ts'
import { identifyOperator } from '../features/operators/operator.ts'
import { resetFactorsOf } from '../features/operators/reset-second-factors.ts'
import { setLimit } from '../features/operators/set-limit.ts'
import { resumeOrganization, suspendOrganization } from '../features/operators/suspend.ts'
import { unlinkIdentitiesOf } from '../features/operators/unlink-identities.ts'
import { prefetchWeights } from '../features/weights/prefetch-weights.ts'
import { formatFileSize } from '../base/format-bytes.ts'
import { createLog } from '../base/log.ts'
import type { CachedWeights, WeightCache } from '../ports/model-runtime.ts'

/** The settings and the output of a command. */
export interface Terminal {
  settings: NodeJS.ProcessEnv
  console: Console
}

/** Runs a command of `npm run admin`. Resolves to its exit code. */
export async function runAdmin(args: readonly string[], { settings, console }: Terminal): Promise<number> {
  const shell = new Shell(settings, console)
  const program = new Command('npm run admin --')
    .description('Operate a Berth server with its own settings.')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => console.log(text.trimEnd()),
      writeErr: (text) => console.error(text.trimEnd()),
    })
  addOrganizationCommands(program, shell)
  addUserCommands(program, shell)
  addDatabaseCommands(program, shell)
  addAuditCommands(program, shell)
  addCatalogCommands(program, shell)
  addWeightCommands(program, shell)
  addChecks(program, shell)
  try {
    await program.parseAsync(args, { from: 'user' })
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode
    if (!(error instanceof ApplicationError || error instanceof ConfigError)) throw error
    shell.fail(error.message)
  }
  return shell.exitCode
}

class Shell {
  exitCode = 0
  readonly #settings: NodeJS.ProcessEnv
  readonly #console: Console

  constructor(settings: NodeJS.ProcessEnv, console: Console) {
    this.#settings = settings
    this.#console = console
  }

  /** Runs one command on the server's services, with the server's settings, and closes them again. */
  async withApplication(work: (application: Application) => Promise<void>): Promise<void> {
    const log = createLog({ level: 'warn' }, (line) => this.#console.error(line.trimEnd()))
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
      const { weightCache } = application.runtime
      if (weightCache !== undefined) return work(weightCache, application)
      this.fail(
        'This runtime keeps no weights on this host: engines download them where they run. If they share a cache there, a deployment fills it.',
      )
    })
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

function wholeNumber(most: number): (text: string) => number {
  return (text) => {
    if (!/^\d{1,15}$/.test(text) || Number(text) > most) {
      throw new InvalidArgumentError(`It must be a whole number from 0 to ${most}.`)
    }
    return Number(text)
  }
}

const parseId = wholeNumber(Number.MAX_SAFE_INTEGER)

function addOrganizationCommands(program: Command, shell: Shell): void {
  const organization = program
    .command('organization')
    .description('Find, suspend, limit and close organizations')
  organization
    .command('find <text>')
    .description('list organizations by id, slug or part of the name')
    .action((text: string) =>
      shell.withApplication(async ({ db }) => shell.printRows(await findOrganizations(db, text))),
    )
  organization
    .command('suspend')
    .argument('<id>', 'id of the organization', parseId)
    .requiredOption('--reason <text>', 'why, for the audit log')
    .option('--grace <minutes>', 'time until the deployments end', wholeNumber(43_200), 60)
    .description('let the members only read; email the admins, then end the deployments')
    .action((id: number, { reason, grace }: { reason: string; grace: number }) =>
      shell.withApplication(async (application) => {
        await suspendOrganization(application, identifyOperator(), id, { reason, graceMinutes: grace })
        shell.print(`Suspended. Its deployments end in ${grace} minutes unless you resume it.`)
      }),
    )
  organization
    .command('resume')
    .argument('<id>', 'id of the organization', parseId)
    .description('end a suspension')
    .action((id: number) =>
      shell.withApplication(async (application) => {
        await resumeOrganization(application, identifyOperator(), id)
        shell.print('Resumed.')
      }),
    )
  organization
    .command('limit')
    .argument('<id>', 'id of the organization', parseId)
    .argument('<number>', 'most deployments at once', wholeNumber(1_000_000))
    .description('set how many deployments it may have at once')
    .action((id: number, limit: number) =>
      shell.withApplication(async (application) => {
        await setLimit(application, identifyOperator(), id, limit)
        shell.print(`It may have ${limit} deployments at once.`)
      }),
    )
  organization
    .command('close')
    .argument('<id>', 'id of the organization', parseId)
    .requiredOption('--yes', 'confirm: this cannot be undone')
    .description('end its deployments and close it and its billing account for good')
    .action((id: number) =>
      shell.withApplication(async (application) => {
        await closeOrganizationForGood(application, identifyOperator(), id)
        shell.print('Closed.')
      }),
    )
}

function addUserCommands(program: Command, shell: Shell): void {
  const user = program.command('user').description('Find, disable, enable and reset users')
  user
    .command('find <text>')
    .description('list users by id or part of the email or name')
    .action((text: string) =>
      shell.withApplication(async ({ db }) => shell.printRows(await findUsers(db, text))),
    )
  for (const [verb, disabled, done] of [
    ['disable', true, 'Disabled. The sessions have ended.'],
    ['enable', false, 'Enabled.'],
  ] as const) {
    user
      .command(verb)
      .argument('<id>', 'id of the user', parseId)
      .description(disabled ? 'end all sessions and refuse sign-ins' : 'allow sign-ins again')
      .action((id: number) =>
        shell.withApplication(async (application) => {
          await disableUser(application, identifyOperator(), id, disabled)
          shell.print(done)
        }),
      )
  }

  user
    .command('reset-factors')
    .argument('<id>', 'id of the user', parseId)
    .description('remove all second factors, end all sessions and email the user')
    .action((id: number) =>
      shell.withApplication(async (application) => {
        await resetFactorsOf(application, identifyOperator(), id)
        shell.print('Reset. The sessions have ended, and the user can sign in with the password alone.')
      }),
    )

  user
    .command('unlink')
    .argument('<id>', 'id of the user', parseId)
    .description('remove the links to identity providers, end all sessions and email the user')
    .action((id: number) =>
      shell.withApplication(async (application) => {
        await unlinkIdentitiesOf(application, identifyOperator(), id)
        shell.print(
          'Unlinked. The next sign-in through the provider with the address of the user links again.',
        )
      }),
    )
}

function addDatabaseCommands(program: Command, shell: Shell): void {
  program
    .command('database')
    .description('Move the database')
    .command('export <file>')
    .description('write all rows to a new file for psql')
    .action((path: string) =>
      shell.withApplication(async ({ db }) => {
        // The rows contain hashes of passwords.
        const file = await open(path, 'wx', 0o600)
        try {
          await exportDatabase(db, (text) => file.appendFile(text))
          await file.sync()
        } catch (error) {
          await rm(path, { force: true })
          throw error
        } finally {
          await file.close()
        }
        shell.print(`Exported to ${path}. docs/operations.md says how to import it.`)
      }),
    )
}

function addAuditCommands(program: Command, shell: Shell): void {
  program
    .command('audit')
    .description('Read the audit log')
    .command('list')
    .option('--organization <id>', 'only this organization', parseId)
    .option('--limit <number>', 'most rows', wholeNumber(10_000), 50)
    .description('list the newest actions of all organizations')
    .action((options: { organization?: number; limit: number }) =>
      shell.withApplication(async ({ db }) => shell.printRows(await findActions(db, options))),
    )
}

function addCatalogCommands(program: Command, shell: Shell): void {
  const catalog = program.command('catalog').description('Change which models all organizations see')
  catalog
    .command('list')
    .description('list the models of the installation')
    .action(() => shell.withApplication(async ({ db }) => shell.printRows(await listCatalog({ db }))))
  catalog
    .command('import <repository>')
    .description('add a model from the Hugging Face Hub, with HF_TOKEN if it is set')
    .option('--name <name>', 'name of the model (default: that of the repository)', parseModelName)
    .option('--revision <revision>', 'branch, tag or commit (default: main)')
    .action((repository: string, options: { name?: string; revision?: string }) =>
      shell.withApplication(async (application) => {
        const name = await importCatalogModel(application, identifyOperator(), repository, options)
        shell.print(`Imported as ${name}.`)
      }),
    )
  for (const [verb, enabled] of [
    ['enable', true],
    ['disable', false],
  ] as const) {
    catalog
      .command(`${verb} <model>`)
      .description(enabled ? 'show a model again' : 'hide a model and refuse new deployments of it')
      .action((model: string) =>
        shell.withApplication(async (application) => {
          await enableCatalogModel(application, identifyOperator(), model, enabled)
          shell.print(enabled ? 'Enabled.' : 'Disabled.')
        }),
      )
  }
  catalog
    .command('remove <model>')
    .description('remove an imported model')
    .action((model: string) =>
      shell.withApplication(async (application) => {
        await removeCatalogModel(application, identifyOperator(), model)
        shell.print('Removed.')
      }),
    )
}

function parseModelName(text: string): string {
  if (/^[A-Za-z0-9][\w.-]{0,127}$/.test(text)) return text
  throw new InvalidArgumentError('It must have at most 128 letters, digits, dots, dashes and underscores.')
}

function addWeightCommands(program: Command, shell: Shell): void {
  const weights = program
    .command('weights')
    .description('See and delete the model weights in the cache of this host')
  weights
    .command('list')
    .description('list the files, the least recently used first')
    .action(() =>
      shell.withWeightCache(async (cache) => {
        shell.printRows((await cache.list()).map(toWeightsRow))
        const { bytes, limitBytes } = await cache.measure()
        shell.print(`${formatFileSize(bytes)} of ${formatFileSize(limitBytes)}`)
      }),
    )
  weights
    .command('prune')
    .description('delete what no deployment needs')
    .action(() =>
      shell.withWeightCache(async (cache) => shell.printRows((await cache.prune()).map(toWeightsRow))),
    )

  weights
    .command('prefetch <model>')
    .description('download the weights of a model or a LoRA before a deployment needs them')
    .option('--size <billions>', 'parameters in billions, such as 0.6', parseBillions)
    .option('--format <format>', 'format of the weights, such as ggufv2')
    .option('--quantization <name>', 'quantization, such as Q8_0 (default: what a deployment would get)')
    .option('--organization <id>', 'organization whose own model it is', parseId)
    .action((modelName: string, { size, organization: id, ...choice }: PrefetchOptions) =>
      shell.withWeightCache(async (cache, application) => {
        const request = {
          modelName,
          organizationId: id ?? null,
          choice: { ...choice, sizeInBillions: size },
        }
        const { variant, failure } = await prefetchWeights(application, cache, request, createProgress(shell))
        if (failure === null) {
          shell.print(`The weights of ${variant.modelName} (${variant.quantization}) are in the cache.`)
        } else {
          shell.fail(failure.message)
        }
      }),
    )
}

interface PrefetchOptions {
  size?: number
  format?: string
  quantization?: string
  organization?: number
}

function parseBillions(text: string): number {
  const size = Number(text.replace(/b$/i, ''))
  if (size > 0 && Number.isFinite(size)) return size
  throw new InvalidArgumentError('It must be a number of billions, such as 0.6.')
}

/** Prints a line every few seconds. */
function createProgress(shell: Shell): (message: string) => void {
  let printedAt = -Infinity
  return (message) => {
    if (performance.now() - printedAt < 5000) return
    printedAt = performance.now()
    shell.print(message)
  }
}

function toWeightsRow({ name, bytes, usedAt, isNeeded }: CachedWeights): object {
  return { weights: name, size: formatFileSize(bytes), 'last used': usedAt.toISOString(), needed: isNeeded }
}

function addChecks(program: Command, shell: Shell): void {
  program
    .command('mail')
    .description('Check email')
    .command('test <address>')
    .description('send a test email now')
    .action((to: string) =>
      shell.withApplication(async ({ mailer, config }) => {
        const text = 'This server can send email.'
        const messageId = `<${randomUUID()}@${config.publicUrl.hostname}>`
        const delivery = await mailer.send({
          to,
          subject: 'Berth test',
          text,
          html: `<p>${text}</p>`,
          messageId,
        })
        if (delivery.outcome === 'sent') return shell.print('Sent.')
        shell.fail(`Not sent: ${delivery.reason} Check MAIL_URL and MAIL_FROM.`)
      }),
    )

  program
    .command('doctor')
    .description('check the database, mail, runtime, disk, clock, keys and webhooks')
    .action(() =>
      shell.withApplication(async (application) => {
        for (const { subject, state, remedy } of await examine(application)) {
          shell.print(
            `${remedy === null ? 'ok  ' : 'FIX '} ${subject}: ${state}${remedy === null ? '' : `\n     ${remedy}`}`,
          )
          if (remedy !== null) shell.exitCode = 1
        }
      }),
    )
}
