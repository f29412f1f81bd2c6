import { LoraMatrices, findLoraRefusal, toBaseRepository } from './facts/lora-facts.ts'
import type { ConfigObject } from './facts/config-object.ts'
import { countParameters } from './files/count-parameters.ts'
import { readSafetensorsHeader } from './files/safetensors-header.ts'
import { catchInvalid, toRefusedVariant } from './repository-reader.ts'
import type { RepositoryReader, RepositoryVariant } from './repository-reader.ts'

const format = 'lora-peft'
export const loraConfig = 'adapter_config.json'
const weights = 'adapter_model.safetensors'

/** Reads the LoRA in the top folder of a repository, which is one variant; none if it has none. */
export async function readLoraVariant(reader: RepositoryReader): Promise<RepositoryVariant[]> {
  if (reader.find(loraConfig) === undefined) return []
  const file = reader.find(weights)
  const refuse = (reason: string) => [toRefusedVariant(format, 'none', file?.bytes ?? 0, reason)]
  if (file === undefined) return refuse(`The LoRA has no ${weights}`)
  const config = await catchInvalid(() => reader.readConfig(loraConfig))
  if ('reason' in config) return refuse(config.reason)
  const refusal = findLoraRefusal(config.value ?? {})
  if (refusal !== null) return refuse(refusal)
  const read = await catchInvalid(() => readMatrices(reader, config.value ?? {}))
  if ('reason' in read) return refuse(read.reason)
  const { lora, parameters } = read.value
  return [
    {
      ...toRefusedVariant(format, 'none', file.bytes, ''),
      reason: null,
      files: [loraConfig, weights],
      parameters,
      lora,
    },
  ]
}

async function readMatrices(reader: RepositoryReader, config: ConfigObject) {
  const tensors = await readSafetensorsHeader(reader.open(reader.find(weights)!))
  const matrices = new LoraMatrices()
  for (const { name, shape } of tensors) matrices.add(name, shape.at(-1) ?? 0, shape.at(-2) ?? 0)
  return {
    lora: matrices.toContents(toBaseRepository(config['base_model_name_or_path'])),
    parameters: countParameters(tensors, null),
  }
}
