import type { DeployableModel } from '../../../console/src/contract.ts'
import { connectClient } from '../api/connect.ts'
import { listCatalog } from '../api/list-catalog.ts'
import type { Context } from '../base/context.ts'
import { formatSize } from '../base/format.ts'
import type { Output } from '../base/output.ts'
import { cleanText } from '../base/text.ts'

/** Lists the models of the catalog. */
export async function listModels(
  { env, output }: Context,
  search: string | undefined,
  { type }: { type?: string },
): Promise<void> {
  const client = await connectClient(env)
  const models = await listCatalog(client, { type, search })
  const named = models.find(({ model_name: name }) => name === search)
  output.result(models, () => {
    const header = ['MODEL', 'TYPE', 'SIZES', 'FORMATS', 'PROVIDER']
    if (named) printVariants(output, named)
    else output.table(header, models.map(describeModel), 'No model matches.')
  })
}

/** Prints what chooses each variant of a model with `plan` and `deploy`. */
function printVariants(output: Output, model: DeployableModel): void {
  const { model_name: name, description, variants } = model
  output.line(`${name}: ${cleanText(description)}\n`)
  output.table(
    ['SIZE', 'FORMAT', 'QUANTIZATIONS'],
    variants.map(
      ({ model_size_in_billions: size, model_format: format, quantizations, default: isDefault }) => [
        `${formatSize(size)}${isDefault ? ' (default)' : ''}`,
        format,
        quantizations.join(' '),
      ],
    ),
  )
}

function describeModel({
  model_name: name,
  model_type: type,
  variants,
  provider,
}: DeployableModel): string[] {
  const sizes = new Set(variants.map(({ model_size_in_billions: size }) => size))
  const formats = new Set(variants.map(({ model_format: format }) => format))
  const sorted = [...sizes].toSorted((one, other) => one - other)
  return [name, type, sorted.map(formatSize).join(' '), [...formats].join(' '), provider]
}
