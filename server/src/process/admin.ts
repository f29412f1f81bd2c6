import { randomUUID } from 'node:crypto'
import { open, rm } from 'node:fs/promises'
import { Command, InvalidArgumentError } from 'commander'
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

/** Runs one command on the server's services, with the server's settings, and closes them again. */
async function withApplication(work: (application: Application) => Promise<void>): Promise<void> {
  const log = createLog({ level: 'warn' }, (line) => process.stderr.write(line))
  // As an API, because the worker alone may lock DATA_DIR.
  const config = { ...readConfig(process.env), role: 'api' as const, databasePoolSize: 4 }
  const application = await createApplication(config, { log, keepsCatalog: true })
  try {
    await work(application)
  } finally {
    await application.close()
  }
}

function printRows(rows: readonly object[]): void {
  if (rows.length === 0) console.log('Nothing found.')
  else console.table(rows)
}

/** A parser of whole numbers up to `most`. */
function wholeNumber(most: number): (text: string) => number {
  return (text) => {
    if (!/^\d{1,15}$/.test(text) || Number(text) > most) {
      throw new InvalidArgumentError(`It must be a whole number from 0 to ${most}.`)
    }
    return Number(text)
  }
}

const parseId = wholeNumber(Number.MAX_SAFE_INTEGER)

const operator = identifyOperator()
const program = new Command('npm run admin --').description('Operate a Berth server with its own settings.')

const organization = program
  .command('organization')
  .description('Find, suspend, limit and close organizations')
organization
  .command('find <text>')
  .description('list organizations by id, slug or part of the name')
  .action((text: string) => withApplication(async ({ db }) => printRows(await findOrganizations(db, text))))
organization
  .command('suspend')
  .argument('<id>', 'id of the organization', parseId)
  .requiredOption('--reason <text>', 'why, for the audit log')
  .option('--grace <minutes>', 'time until the deployments end', wholeNumber(43_200), 60)
  .description('let the members only read; email the admins, then end the deployments')
  .action((id: number, { reason, grace }: { reason: string; grace: number }) =>
    withApplication(async (application) => {
      await suspendOrganization(application, operator, id, { reason, graceMinutes: grace })
      console.log(`Suspended. Its deployments end in ${grace} minutes unless you resume it.`)
    }),
  )
organization
  .command('resume')
  .argument('<id>', 'id of the organization', parseId)
  .description('end a suspension')
  .action((id: number) =>
    withApplication(async (application) => {
      await resumeOrganization(application, operator, id)
      console.log('Resumed.')
    }),
  )
organization
  .command('limit')
  .argument('<id>', 'id of the organization', parseId)
  .argument('<number>', 'most deployments at once', wholeNumber(1_000_000))
  .description('set how many deployments it may have at once')
  .action((id: number, limit: number) =>
    withApplication(async (application) => {
      await setLimit(application, operator, id, limit)
      console.log(`It may have ${limit} deployments at once.`)
    }),
  )
organization
  .command('close')
  .argument('<id>', 'id of the organization', parseId)
  .requiredOption('--yes', 'confirm: this cannot be undone')
  .description('end its deployments and close it and its billing account for good')
  .action((id: number) =>
    withApplication(async (application) => {
      await closeOrganizationForGood(application, operator, id)
      console.log('Closed.')
    }),
  )

const user = program.command('user').description('Find, disable, enable and reset users')
user
  .command('find <text>')
  .description('list users by id or part of the email or name')
  .action((text: string) => withApplication(async ({ db }) => printRows(await findUsers(db, text))))
for (const [verb, disabled, done] of [
  ['disable', true, 'Disabled. The sessions have ended.'],
  ['enable', false, 'Enabled.'],
] as const) {
  user
    .command(verb)
    .argument('<id>', 'id of the user', parseId)
    .description(disabled ? 'end all sessions and refuse sign-ins' : 'allow sign-ins again')
    .action((id: number) =>
      withApplication(async (application) => {
        await disableUser(application, operator, id, disabled)
        console.log(done)
      }),
    )
}

user
  .command('reset-factors')
  .argument('<id>', 'id of the user', parseId)
  .description('remove all second factors, end all sessions and email the user')
  .action((id: number) =>
    withApplication(async (application) => {
      await resetFactorsOf(application, operator, id)
      console.log('Reset. The sessions have ended, and the user can sign in with the password alone.')
    }),
  )

user
  .command('unlink')
  .argument('<id>', 'id of the user', parseId)
  .description('remove the links to identity providers, end all sessions and email the user')
  .action((id: number) =>
    withApplication(async (application) => {
      await unlinkIdentitiesOf(application, operator, id)
      console.log('Unlinked. The next sign-in through the provider with the address of the user links again.')
    }),
  )

program
  .command('database')
  .description('Move the database')
  .command('export <file>')
  .description('write all rows to a new file for psql')
  .action((path: string) =>
    withApplication(async ({ db }) => {
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
      console.log(`Exported to ${path}. docs/operations.md says how to import it.`)
    }),
  )

program
  .command('audit')
  .description('Read the audit log')
  .command('list')
  .option('--organization <id>', 'only this organization', parseId)
  .option('--limit <number>', 'most rows', wholeNumber(10_000), 50)
  .description('list the newest actions of all organizations')
  .action((options: { organization?: number; limit: number }) =>
    withApplication(async ({ db }) => printRows(await findActions(db, options))),
  )

const catalog = program.command('catalog').description('Change which models all organizations see')
catalog
  .command('list')
  .description('list the models of the installation')
  .action(() => withApplication(async ({ db }) => printRows(await listCatalog({ db }))))
catalog
  .command('import <repository>')
  .description('add a model from the Hugging Face Hub, with HF_TOKEN if it is set')
  .option('--name <name>', 'name of the model (default: that of the repository)', parseModelName)
  .option('--revision <revision>', 'branch, tag or commit (default: main)')
  .action((repository: string, options: { name?: string; revision?: string }) =>
    withApplication(async (application) => {
      const name = await importCatalogModel(application, operator, repository, options)
      console.log(`Imported as ${name}.`)
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
      withApplication(async (application) => {
        await enableCatalogModel(application, operator, model, enabled)
        console.log(enabled ? 'Enabled.' : 'Disabled.')
      }),
    )
}
catalog
  .command('remove <model>')
  .description('remove an imported model')
  .action((model: string) =>
    withApplication(async (application) => {
      await removeCatalogModel(application, operator, model)
      console.log('Removed.')
    }),
  )

function parseModelName(text: string): string {
  if (/^[A-Za-z0-9][\w.-]{0,127}$/.test(text)) return text
  throw new InvalidArgumentError('It must have at most 128 letters, digits, dots, dashes and underscores.')
}

const weights = program
  .command('weights')
  .description('See and delete the model weights in the cache of this host')
weights
  .command('list')
  .description('list the files, the least recently used first')
  .action(() =>
    withWeightCache(async (cache) => {
      printRows((await cache.list()).map(toWeightsRow))
      const { bytes, limitBytes } = await cache.measure()
      console.log(`${formatFileSize(bytes)} of ${formatFileSize(limitBytes)}`)
    }),
  )
weights
  .command('prune')
  .description('delete what no deployment needs')
  .action(() => withWeightCache(async (cache) => printRows((await cache.prune()).map(toWeightsRow))))

weights
  .command('prefetch <model>')
  .description('download the weights of a model or an adapter before a deployment needs them')
  .option('--size <billions>', 'parameters in billions, such as 0.6', parseBillions)
  .option('--format <format>', 'format of the weights, such as ggufv2')
  .option('--quantization <name>', 'quantization, such as Q8_0 (default: what a deployment would get)')
  .option('--organization <id>', 'organization whose own model it is', parseId)
  .action((modelName: string, { size, organization: id, ...choice }: PrefetchOptions) =>
    withWeightCache(async (cache, application) => {
      const request = {
        modelName,
        organizationId: id ?? null,
        choice: { ...choice, sizeInBillions: size },
      }
      const { variant, failure } = await prefetchWeights(application, cache, request, createProgress())
      if (failure === null) {
        console.log(`The weights of ${variant.modelName} (${variant.quantization}) are in the cache.`)
      } else {
        console.error(failure.message)
        process.exitCode = 1
      }
    }),
  )

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
function createProgress(): (message: string) => void {
  let printedAt = -Infinity
  return (message) => {
    if (performance.now() - printedAt < 5000) return
    printedAt = performance.now()
    console.log(message)
  }
}

/** Runs a command on the cache of this host, if its runtime has one. */
async function withWeightCache(
  work: (cache: WeightCache, application: Application) => Promise<void>,
): Promise<void> {
  await withApplication(async (application) => {
    const { weightCache } = application.runtime
    if (weightCache !== undefined) return work(weightCache, application)
    console.error(
      'This runtime keeps no weights on this host: engines download them where they run. If they share a cache there, a deployment fills it.',
    )
    process.exitCode = 1
  })
}

function toWeightsRow({ name, bytes, usedAt, isNeeded }: CachedWeights): object {
  return { weights: name, size: formatFileSize(bytes), 'last used': usedAt.toISOString(), needed: isNeeded }
}

program
  .command('mail')
  .description('Check email')
  .command('test <address>')
  .description('send a test email now')
  .action((to: string) =>
    withApplication(async ({ mailer, config }) => {
      const text = 'This server can send email.'
      const messageId = `<${randomUUID()}@${config.publicUrl.hostname}>`
      const delivery = await mailer.send({
        to,
        subject: 'Berth test',
        text,
        html: `<p>${text}</p>`,
        messageId,
      })
      if (delivery.outcome === 'sent') return console.log('Sent.')
      console.error(`Not sent: ${delivery.reason} Check MAIL_URL and MAIL_FROM.`)
      process.exitCode = 1
    }),
  )

program
  .command('doctor')
  .description('check the database, mail, runtime, disk, clock, keys and webhooks')
  .action(() =>
    withApplication(async (application) => {
      for (const { subject, state, remedy } of await examine(application)) {
        console.log(
          `${remedy === null ? 'ok  ' : 'FIX '} ${subject}: ${state}${remedy === null ? '' : `\n     ${remedy}`}`,
        )
        if (remedy !== null) process.exitCode = 1
      }
    }),
  )

try {
  await program.parseAsync()
} catch (error) {
  if (!(error instanceof ApplicationError || error instanceof ConfigError)) throw error
  console.error(error.message)
  process.exitCode = 1
}
