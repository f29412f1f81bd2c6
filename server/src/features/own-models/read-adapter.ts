import { AdapterMatrices, findAdapterRefusal, toBaseRepository } from './facts/adapter-facts.ts'
import type { ConfigObject } from './facts/config-object.ts'
import { countParameters } from './files/count-parameters.ts'
import { readSafetensorsHeader } from './files/safetensors-header.ts'
import { catchInvalid, toRefusedVariant } from './repository-reader.ts'
import type { RepositoryReader, RepositoryVariant } from './repository-reader.ts'

const format = 'lora-peft'
export const adapterConfig = 'adapter_config.json'
const weights = 'adapter_model.safetensors'

/** Reads the adapter in the top folder of a repository, which is one variant; none if it has none. */
export async function readAdapterVariant(reader: RepositoryReader): Promise<RepositoryVariant[]> {
  if (reader.find(adapterConfig) === undefined) return []
  const file = reader.find(weights)
  const refuse = (reason: string) => [toRefusedVariant(format, 'none', file?.bytes ?? 0, reason)]
  if (file === undefined) return refuse(`The adapter has no ${weights}`)
  const config = await catchInvalid(() => reader.readConfig(adapterConfig))
  if ('reason' in config) return refuse(config.reason)
  const refusal = findAdapterRefusal(config.value ?? {})
  if (refusal !== null) return refuse(refusal)
  const read = await catchInvalid(() => readMatrices(reader, config.value ?? {}))
  if ('reason' in read) return refuse(read.reason)
  const { adapter, parameters } = read.value
  return [
    {
      ...toRefusedVariant(format, 'none', file.bytes, ''),
      reason: null,
      files: [adapterConfig, weights],
      parameters,
      adapter,
    },
  ]
}

async function readMatrices(reader: RepositoryReader, config: ConfigObject) {
  const tensors = await readSafetensorsHeader(reader.open(reader.find(weights)!))
  const matrices = new AdapterMatrices()
  for (const { name, shape } of tensors) matrices.add(name, shape.at(-1) ?? 0, shape.at(-2) ?? 0)
  return {
    adapter: matrices.toContents(toBaseRepository(config['base_model_name_or_path'])),
    parameters: countParameters(tensors, null),
  }
}
