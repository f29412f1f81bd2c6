import type { EngineFailure } from '../../../ports/engine-failures.ts'
import type { EngineSpec } from '../../../ports/model-runtime.ts'
import type { ModelVariant } from '../../../ports/model-variant.ts'
import * as schemas from './response-schemas.ts'
import type { EngineSpecs } from './response-schemas.ts'
import { SupervisorError, toEngineFailure } from './errors.ts'
import type { Supervisor } from './supervisor.ts'

/** The engines that can run a variant, in order of preference. */
function listPreferredEngines({ format, modelType }: ModelVariant): string[] {
  if (format === 'ggufv2') return ['llama.cpp']
  if (format === 'mlx') return ['MLX']
  return modelType === 'LLM' ? ['vLLM', 'SGLang', 'Transformers'] : ['sentence_transformers', 'flag', 'vLLM']
}

/** Xinference does not match fractional numbers, so 1.5 becomes `1_5`. */
export function formatSize(billions: number): number | string {
  return Number.isInteger(billions) ? billions : String(billions).replace('.', '_')
}

/** The name under which Xinference has a model. */
export function nameInXinference({ engines, modelName }: ModelVariant): string {
  return engines.xinference?.modelName ?? modelName
}

/** Chooses an engine that the cluster can run now, or explains why none can. Throws SupervisorError. */
export async function chooseEngine(
  supervisor: Supervisor,
  variant: ModelVariant,
): Promise<{ engine: string } | EngineFailure> {
  const { modelType } = variant
  const modelName = nameInXinference(variant)
  const name = encodeURIComponent(modelName)
  const response = await supervisor.request({ method: 'GET', path: `/v1/engines/${modelType}/${name}` })
  if (response.status !== 200) {
    const isUnknown = response.status < 500 || /not found|unknown|not supported/i.test(response.detail)
    if (isUnknown) return toEngineFailure(`Model not found, name: ${modelName}`, 'launch_rejected')
    throw new SupervisorError(
      `${supervisor.clusterId} could not list its engines (${response.status}): ${response.detail}`,
    )
  }
  // Since 3.0 the response for an unknown model is null.
  if (response.body === null) return toEngineFailure(`Model not found, name: ${modelName}`, 'launch_rejected')
  const parsed = schemas.engines.safeParse(response.body)
  if (!parsed.success) throw new SupervisorError(`${supervisor.clusterId} sent an invalid list of engines`)
  return pickEngine(parsed.data, variant)
}

function pickEngine(listed: EngineSpecs, variant: ModelVariant): { engine: string } | EngineFailure {
  const preferredEngines = listPreferredEngines(variant)
  const candidates = preferredEngines.flatMap((preferred) =>
    Object.entries(listed).filter(([engine]) => engine.toLowerCase() === preferred.toLowerCase()),
  )
  const match = candidates.find(
    ([, specs]) => Array.isArray(specs) && specs.some((spec) => isSameVariant(spec, variant)),
  )
  if (match !== undefined) return { engine: match[0] }
  const description = `${nameInXinference(variant)} as ${variant.format}, ${variant.sizeInBillions}B, ${variant.quantization}`
  const reasons = candidates.flatMap(([engine, reason]) =>
    typeof reason === 'string' && reason !== '' ? [`${engine}: ${reason}`] : [],
  )
  if (reasons.length === 0 && candidates.some(([, specs]) => Array.isArray(specs))) {
    return toEngineFailure(`Model not found, name: ${description}`, 'launch_rejected')
  }
  const reason =
    reasons.length > 0 ? reasons.join('; ') : `none of ${preferredEngines.join(', ')} is installed`
  const message = `No engine in the Xinference cluster can run ${description}: ${reason}.`
  return { stage: 'model_launch', code: 'launch_rejected', message }
}

/** True if a spec of Xinference's lists describes the variant. */
export function isSameVariant(
  spec: Exclude<EngineSpecs[string], string>[number],
  variant: ModelVariant,
): boolean {
  const { model_format: format, model_size_in_billions: size, quantizations, quantization } = spec
  const offered = [...(quantizations ?? []), ...(quantization == null ? [] : [quantization])]
  return (
    (format == null || format === variant.format) &&
    (size == null ||
      variant.modelType !== 'LLM' ||
      Number(String(size).replace('_', '.')) === variant.sizeInBillions) &&
    (offered.length === 0 ||
      offered.some((each) => each.toLowerCase() === variant.quantization.toLowerCase()))
  )
}

/** How to launch a model. */
interface LaunchSettings {
  /** null if Xinference chooses the worker */
  workerIp: string | null
  /** The share of each GPU's memory that the engine may use */
  gpuMemoryShare: number
  /** Source and place of the engine's uploaded file; null for models of Xinference's list */
  upload: { url: string; path: string } | null
}

/** Builds the body of a launch request. */
export function toLaunchBody(
  spec: EngineSpec,
  engine: string,
  { workerIp, gpuMemoryShare, upload }: LaunchSettings,
): Record<string, unknown> {
  const { variant } = spec
  const isChat = variant.modelType === 'LLM'
  return {
    model_uid: spec.modelUid,
    model_name: nameInXinference(variant),
    model_type: variant.modelType,
    model_engine: engine,
    model_format: variant.format,
    quantization: variant.quantization,
    ...(isChat ? { model_size_in_billions: formatSize(variant.sizeInBillions) } : {}),
    replica: 1,
    // null selects the CPU; without the field Xinference uses "auto".
    n_gpu: spec.gpuCount === 0 ? null : spec.gpuCount,
    ...(workerIp === null ? {} : { worker_ip: workerIp }),
    // Without a path, Xinference would look for the file of an upload on the Hub.
    ...(upload === null ? {} : { model_path: '/dev/null' }),
    ...(engine.toLowerCase() === 'llama.cpp' ? toLlamaCppOptions(spec, upload) : {}),
    ...(isChat ? toEngineOptions(spec, engine, gpuMemoryShare) : {}),
    ...variant.engines.xinference?.options,
  }
}

/** The options of chat models for each engine but llama.cpp */
function toEngineOptions(
  { variant, contextTokens, parallelSequences }: EngineSpec,
  engine: string,
  gpuMemoryShare: number,
): Record<string, unknown> {
  // Otherwise thoughts are part of the text. Xinference fails on it for models whose tags it doesn't know.
  const reasoning = variant.engines.xinference?.separatesReasoning === true ? { reasoning_content: true } : {}
  switch (engine.toLowerCase()) {
    case 'vllm':
      return {
        max_model_len: contextTokens,
        max_num_seqs: parallelSequences,
        gpu_memory_utilization: gpuMemoryShare,
        ...reasoning,
      }
    case 'sglang':
      return { context_length: contextTokens, ...reasoning }
    default:
      return reasoning
  }
}

/** llama.cpp's `LLAMA_POOLING_TYPE_UNSPECIFIED`. Xinference would take the last token of every model. */
const poolingOfModel = -1
/** More than any model has */
const allLayers = 9999

/** llama.cpp divides its context among its slots, and reads a text in one batch to embed or rank it. */
function toLlamaCppOptions(spec: EngineSpec, upload: LaunchSettings['upload']): Record<string, unknown> {
  const { variant, modelUid, contextTokens, parallelSequences } = spec
  const slots = { n_ctx: contextTokens * parallelSequences, n_parallel: parallelSequences }
  const batch = { n_batch: contextTokens, n_ubatch: contextTokens }
  const file = upload === null ? {} : toFileOptions(spec, upload)
  switch (variant.modelType) {
    case 'LLM':
      // Without this option responses name the model after the folder of its weights.
      return { ...slots, model_alias: [modelUid], ...file }
    case 'rerank':
      return { ...slots, ...batch, ...file }
    case 'embedding': {
      // Until 4.0, only here do options reach the engine of an embedding model.
      const { options } = variant.engines.xinference ?? {}
      const pooling = { pooling_type: poolingOfModel }
      return { llamacpp_model_config: { ...slots, ...batch, ...pooling, ...file, ...options } }
    }
  }
}

function toFileOptions(
  { gpuCount }: EngineSpec,
  { url, path }: { url: string; path: string },
): Record<string, unknown> {
  return {
    // llama.cpp downloads the file unless it has it already.
    'model.url': url,
    'model.path': path,
    // Xinference would read the file to estimate them.
    n_gpu_layers: gpuCount === 0 ? 0 : allLayers,
  }
}
