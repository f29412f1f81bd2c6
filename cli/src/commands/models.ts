import type { DeployableModel } from '../../../console/src/contract.ts'
import { connectClient } from '../api/connect.ts'
import type { Context } from '../base/context.ts'
import { formatSize } from '../base/format.ts'

const types = ['LLM', 'embedding', 'rerank']

/** Lists the models of the catalog. */
export async function listModels(
  { env, output }: Context,
  search: string | undefined,
  { type }: { type?: string },
): Promise<void> {
  const client = await connectClient(env)
  const lists = await Promise.all(
    (type === undefined ? types : [type]).map((model_type) =>
      client.call('GET', '/api/v1/deployable-models', { query: { model_type, q: search } }),
    ),
  )
  const models = lists.flatMap(({ items }) => items)
  output.result(models, () => {
    if (models.length === 0) output.note('No model matches.')
    else output.table(['MODEL', 'TYPE', 'SIZES', 'FORMATS', 'PROVIDER'], models.map(describeModel))
  })
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
