import type { EngineFailure, EngineSpec, ModelVariant } from '../../../ports/model-runtime.ts'
import * as answers from './answers.ts'
import type { EngineSpecs } from './answers.ts'
import { SupervisorFault, toFailure } from './faults.ts'
import type { Supervisor } from './supervisor.ts'

/** The engines that may run a model, the best first. */
function preferEngines({ format, modelType }: ModelVariant): string[] {
  if (format === 'ggufv2') return ['llama.cpp']
  if (format === 'mlx') return ['MLX']
  return modelType === 'embedding'
    ? ['sentence_transformers', 'flag', 'vLLM']
    : ['vLLM', 'SGLang', 'Transformers']
}

/** An integer, or as text with `_` for the point: Xinference finds no model by a fraction. */
function formatSize(billions: number): number | string {
  return Number.isInteger(billions) ? billions : String(billions).replace('.', '_')
}

/** The engine to launch a variant with by what the cluster can run now, or why there is none. Throws a SupervisorFault. */
export async function chooseEngine(
  supervisor: Supervisor,
  variant: ModelVariant,
): Promise<{ engine: string } | EngineFailure> {
  const { modelName, modelType } = variant
  const name = encodeURIComponent(modelName)
  let answer = await supervisor.ask({ method: 'GET', path: `/v1/engines/${modelType}/${name}` })
  // A supervisor without this route: older ones know engines of LLMs alone.
  if (answer.status === 404 && answer.detail === 'Not Found') {
    answer = await supervisor.ask({ method: 'GET', path: `/v1/engines/${name}` })
  }
  if (answer.status === 404 && answer.detail === 'Not Found')
    return { engine: preferEngines(variant)[0] ?? '' }
  if (answer.status !== 200) {
    const isUnknown = answer.status < 500 || /not found|unknown|not supported/i.test(answer.detail)
    if (isUnknown) return toFailure(`Model not found, name: ${modelName}`, 'launch_rejected')
    throw new SupervisorFault(`${supervisor.host} answered ${answer.status} about engines: ${answer.detail}`)
  }
  const parsed = answers.engines.safeParse(answer.body)
  if (!parsed.success) throw new SupervisorFault(`${supervisor.host} answered no list of engines`)
  return pickEngine(parsed.data, variant)
}

/** Picks among the engines that a supervisor lists. */
function pickEngine(listed: EngineSpecs, variant: ModelVariant): { engine: string } | EngineFailure {
  const wanted = preferEngines(variant)
  const named = wanted.flatMap((preferred) =>
    Object.entries(listed).filter(([engine]) => engine.toLowerCase() === preferred.toLowerCase()),
  )
  const able = named.find(
    ([, specs]) => Array.isArray(specs) && specs.some((spec) => isSameVariant(spec, variant)),
  )
  if (able !== undefined) return { engine: able[0] }
  const what = `${variant.modelName} as ${variant.format}, ${variant.sizeInBillions}B, ${variant.quantization}`
  const reasons = named.flatMap(([engine, reason]) =>
    typeof reason === 'string' && reason !== '' ? [`${engine}: ${reason}`] : [],
  )
  if (reasons.length === 0 && named.some(([, specs]) => Array.isArray(specs))) {
    return toFailure(`Model not found, name: ${what}`, 'launch_rejected')
  }
  const why = reasons.length > 0 ? reasons.join('; ') : `none of ${wanted.join(', ')} is there`
  const message = `No engine of the Xinference cluster runs ${what} (${why}).`
  return { stage: 'model_launch', code: 'launch_rejected', message }
}

function isSameVariant(spec: Exclude<EngineSpecs[string], string>[number], variant: ModelVariant): boolean {
  const { model_format: format, model_size_in_billions: size, quantizations, quantization } = spec
  const offered = [...(quantizations ?? []), ...(quantization == null ? [] : [quantization])]
  return (
    (format == null || format === variant.format) &&
    (size == null ||
      variant.modelType === 'embedding' ||
      Number(String(size).replace('_', '.')) === variant.sizeInBillions) &&
    (offered.length === 0 ||
      offered.some((each) => each.toLowerCase() === variant.quantization.toLowerCase()))
  )
}

/** The body of a launch; `workerIp` null lets Xinference choose the worker. */
export function toLaunchBody(
  spec: EngineSpec,
  engine: string,
  workerIp: string | null,
): Record<string, unknown> {
  const { variant, contextTokens, parallelSequences } = spec
  const isEmbedding = variant.modelType === 'embedding'
  return {
    model_uid: spec.modelUid,
    model_name: variant.modelName,
    model_type: variant.modelType,
    model_engine: engine,
    model_format: variant.format,
    quantization: variant.quantization,
    ...(isEmbedding ? {} : { model_size_in_billions: formatSize(variant.sizeInBillions) }),
    replica: 1,
    // null is the CPU; left out would be "auto".
    n_gpu: spec.gpuCount === 0 ? null : spec.gpuCount,
    ...(workerIp === null ? {} : { worker_ip: workerIp }),
    ...(isEmbedding ? {} : toEngineOptions(engine, contextTokens, parallelSequences)),
  }
}

/** The context in each engine's own words; llama.cpp's is shared by its slots. */
function toEngineOptions(engine: string, context: number, sequences: number): Record<string, number> {
  switch (engine.toLowerCase()) {
    case 'vllm':
      return { max_model_len: context }
    case 'sglang':
      return { context_length: context }
    case 'llama.cpp':
      return { n_ctx: context * sequences, n_parallel: sequences }
    default:
      return {}
  }
}
