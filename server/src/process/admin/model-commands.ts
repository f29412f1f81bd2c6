import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import { formatFileSize } from '../../base/format-bytes.ts'
import {
  enableCatalogModel,
  importCatalogModel,
  listCatalog,
  removeCatalogModel,
} from '../../features/operators/manage-catalog.ts'
import { identifyOperator } from '../../features/operators/operator.ts'
import { prefetchWeights } from '../../features/weights/prefetch-weights.ts'
import type { CachedWeights } from '../../ports/model-runtime.ts'
import { parseId } from './shell.ts'
import type { Shell } from './shell.ts'

/** Adds the commands that change the models of the installation. */
export function addCatalogCommands(program: Command, shell: Shell): void {
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

/** Adds the commands that list, delete and download weights on this host. */
export function addWeightCommands(program: Command, shell: Shell): void {
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
