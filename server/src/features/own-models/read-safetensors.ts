import type { HubFile } from '../../ports/model-hub.ts'
import type { ModelType } from '../../ports/model-variant.ts'
import { InvalidFileError } from './files/byte-cursor.ts'
import { countParameters } from './files/count-parameters.ts'
import { readSafetensorsHeader } from './files/safetensors-header.ts'
import type { Tensor } from './files/safetensors-header.ts'
import { readConfigArchitecture, readContextLength } from './facts/config-architecture.ts'
import { isObject } from './facts/config-object.ts'
import type { ConfigObject } from './facts/config-object.ts'
import { readWeightFormat } from './facts/formats.ts'
import { loraConfig } from './read-lora.ts'
import { catchInvalid, sumBytes, toRefusedVariant } from './repository-reader.ts'
import type { RepositoryReader, RepositoryVariant } from './repository-reader.ts'

const maxFiles = 400
const maxTensors = 300_000
/** Large vocabularies repeat themselves in this file. */
const maxTokenizerConfigBytes = 4 * 1024 * 1024
const maxTemplateBytes = 256 * 1024
/** The outputs of a classifier whose config.json names none */
const usualLabels = 2

/** Reads the safetensors in the top folder of a repository, which are one variant; none if it has none. */
export async function readSafetensorsVariant(reader: RepositoryReader): Promise<RepositoryVariant[]> {
  const files = listWeightFiles(reader.repository.files)
  if (files.length === 0 || isLora(reader)) return []
  const refuse = (reason: string, format = 'pytorch', quantization = 'none') => [
    toRefusedVariant(format, quantization, sumBytes(files), reason),
  ]
  const config = await catchInvalid(() => reader.readConfig('config.json'))
  if ('reason' in config) return refuse(config.reason)
  if (config.value === null) return refuse(explainMissingConfig(reader))
  const format = readWeightFormat(config.value, reader.repository.name)
  const { format: name, quantization } = format
  if ('refusal' in format) return refuse(format.refusal, name, quantization)
  const type = readModelType(config.value, reader)
  if ('reason' in type) return refuse(type.reason, name, quantization)
  const tensors = await catchInvalid(() => readWeightTensors(reader))
  if ('reason' in tensors) return refuse(tensors.reason, name, quantization)
  const parameters = countParameters(tensors.value, format.packedBits)
  return [
    {
      format: name,
      quantization,
      modelType: type.modelType,
      weightBytes: sumBytes(files),
      files: [],
      parameters,
      contextTokens: readContextLength(config.value),
      architecture: readConfigArchitecture(config.value, parameters),
      architectureName: readArchitectureName(config.value),
      needsArchitecture: config.value['auto_map'] !== undefined,
      projector: null,
      seesImages: isObject(config.value['vision_config']),
      chatTemplate: await readChatTemplate(reader),
      toolTemplate: null,
      lora: null,
      reason: null,
    },
  ]
}

/** As engines choose them: without the copies in the original layout that some owners add. */
function listWeightFiles(files: readonly HubFile[]): HubFile[] {
  const found = files.filter(({ path }) => /^[^/]+\.safetensors$/.test(path))
  const usual = found.filter(({ path }) => !path.startsWith('consolidated'))
  return usual.length > 0 ? usual : found
}

/** Some owners add the configuration of the base model to a LoRA. */
function isLora(reader: RepositoryReader): boolean {
  return reader.find(loraConfig) !== undefined
}

function explainMissingConfig(reader: RepositoryReader): string {
  if (reader.find('model_index.json') !== undefined)
    return 'The repository has a diffusion model, which makes no text'
  return 'The repository has no config.json'
}

/** What the model does, by its class and by the files that sentence-transformers adds. */
function readModelType(
  config: ConfigObject,
  reader: RepositoryReader,
): { modelType: ModelType } | { reason: string } {
  const name = readArchitectureName(config)
  if (name === null) return { reason: 'The config.json names no architecture' }
  if (name.endsWith('ForSequenceClassification')) {
    const labels = isObject(config['id2label']) ? Object.keys(config['id2label']).length : usualLabels
    return labels === 1
      ? { modelType: 'rerank' }
      : { reason: 'A classifier of several outputs can not be deployed' }
  }
  const isEmbedding =
    reader.find('modules.json') !== undefined ||
    /(Model|ForMaskedLM)$/.test(name) ||
    reader.repository.task === 'feature-extraction' ||
    reader.repository.task === 'sentence-similarity'
  if (isEmbedding && name !== 'ChatGLMModel') return { modelType: 'embedding' }
  if (/(ForCausalLM|LMHeadModel|ForConditionalGeneration|ChatModel|Model)$/.test(name))
    return { modelType: 'LLM' }
  return { reason: `${name} makes neither text nor embeddings` }
}

function readArchitectureName({ architectures }: ConfigObject): string | null {
  const [name] = Array.isArray(architectures) ? (architectures as unknown[]) : []
  return typeof name === 'string' && name.length <= 200 ? name : null
}

/** The tensors of all safetensors that `readSafetensorsVariant` reads. Throws InvalidFileError. */
export async function readWeightTensors(reader: RepositoryReader): Promise<Tensor[]> {
  const files = listWeightFiles(reader.repository.files)
  if (files.length > maxFiles) throw new InvalidFileError(`The repository has ${files.length} weight files.`)
  let count = 0
  const headers = await Promise.all(
    files.map(async (file) => {
      const tensors = await readSafetensorsHeader(reader.open(file))
      count += tensors.length
      if (count > maxTensors) throw new InvalidFileError('The weight files list too many tensors.')
      return tensors
    }),
  )
  return headers.flat()
}

/** The chat template, which is only searched for words and never run; null without one. */
async function readChatTemplate(reader: RepositoryReader): Promise<string | null> {
  const file = await reader.readText('chat_template.jinja', maxTemplateBytes)
  if (file !== null) return file
  const config = await catchInvalid(() => reader.readConfig('tokenizer_config.json', maxTokenizerConfigBytes))
  const template = 'value' in config ? config.value?.['chat_template'] : null
  return typeof template === 'string' && template.length <= maxTemplateBytes ? template : null
}
