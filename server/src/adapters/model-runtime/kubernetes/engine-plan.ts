import type { EngineSpec, InstanceType, WeightSource } from '../../../ports/model-runtime.ts'
import { enginePort } from './names.ts'
import type { KubernetesRuntimeSettings } from './settings.ts'

/** How an engine is run: its program's arguments, and over how many nodes. */
export interface EnginePlan {
  engine: 'vllm' | 'llama.cpp'
  image: string
  args: string[]
  nodes: number
  gpusPerPod: number
  /** Seconds that the download and the loading of the model may take together */
  startupSeconds: number
}

export type PlanResult = { plan: EnginePlan } | { refusal: string }

const vllmFormats = ['pytorch', 'awq', 'gptq', 'fp8']
const llamaCppFormats = ['ggufv2']

/** The formats that the engines of this runtime run. */
export const engineFormats = [...vllmFormats, ...llamaCppFormats]

const loadingSeconds = 20 * 60
/** A download that is slower than this, in bytes a second, counts as stuck. */
const slowestDownload = 10 * 2 ** 20
const unknownWeightBytes = 20 * 2 ** 30

/** Decides how a spec is run on an instance type, or says in a sentence why it can't be. */
export function planEngine(
  spec: EngineSpec,
  type: InstanceType,
  settings: Pick<KubernetesRuntimeSettings, 'images' | 'gpusPerNode' | 'huggingFace'>,
): PlanResult {
  const { variant } = spec
  const nodes = Math.ceil(spec.gpuCount / settings.gpusPerNode)
  if (spec.gpuCount % nodes !== 0) {
    return { refusal: `${spec.gpuCount} GPUs can't be spread evenly over nodes of ${settings.gpusPerNode}.` }
  }
  const common = {
    nodes,
    gpusPerPod: spec.gpuCount / nodes,
    startupSeconds: loadingSeconds + Math.ceil((variant.weightBytes ?? unknownWeightBytes) / slowestDownload),
  }
  if (variant.weights.kind === 'file') {
    return { refusal: 'The weights are a file beside the catalog, which a pod of the cluster can not read.' }
  }
  if (vllmFormats.includes(variant.format)) {
    if (variant.weights.kind !== 'huggingface') {
      return { refusal: `vLLM loads ${variant.format} weights from a Hugging Face repository alone.` }
    }
    const args = vllmArguments(spec, type, variant.weights, common)
    return { plan: { engine: 'vllm', image: settings.images.vllm, args, ...common } }
  }
  if (!llamaCppFormats.includes(variant.format)) {
    return {
      refusal: `No engine of this runtime runs ${variant.format}; they run ${engineFormats.join(', ')}.`,
    }
  }
  if (nodes > 1) return { refusal: 'llama.cpp can not be spread over several nodes.' }
  const source = llamaCppSource(variant.weights, settings.huggingFace.endpoint)
  if (source === null) return { refusal: 'The catalog names no GGUF file for these weights.' }
  const args = llamaCppArguments(spec, source)
  return { plan: { engine: 'llama.cpp', image: settings.images.llamaCpp, args, ...common } }
}

function vllmArguments(
  spec: EngineSpec,
  { computeCapability }: InstanceType,
  weights: Extract<WeightSource, { kind: 'huggingface' }>,
  { nodes, gpusPerPod }: { nodes: number; gpusPerPod: number },
): string[] {
  const { variant } = spec
  // GPUs before Ampere have no bfloat16, which most checkpoints ask for.
  const isOldGpu = computeCapability !== null && computeCapability < 8
  // Of a checkpoint that is quantized already vLLM reads the method itself, and refuses another's name.
  const quantizeHere = variant.format === 'fp8' && !/fp8/i.test(weights.repo)
  const isEmbedding = variant.modelType === 'embedding'
  const toolParser = isEmbedding ? undefined : findToolParser(variant.modelName)
  return toArguments({
    model: weights.repo,
    revision: weights.revision,
    'served-model-name': spec.modelUid,
    host: '0.0.0.0',
    port: enginePort,
    'max-model-len': spec.contextTokens,
    'max-num-seqs': spec.parallelSequences,
    'tensor-parallel-size': gpusPerPod,
    'pipeline-parallel-size': nodes > 1 ? nodes : undefined,
    'distributed-executor-backend': nodes > 1 ? 'ray' : undefined,
    'gpu-memory-utilization': 0.9,
    dtype: isOldGpu ? 'half' : undefined,
    quantization: quantizeHere ? 'fp8' : undefined,
    runner: isEmbedding ? 'pooling' : undefined,
    'enable-auto-tool-choice': toolParser !== undefined,
    'tool-call-parser': toolParser,
  })
}

/** Options of a command line: true stands for a bare flag, undefined and false for none. */
function toArguments(options: Record<string, string | number | boolean | undefined>): string[] {
  return Object.entries(options).flatMap(([name, value]) => {
    if (value === undefined || value === false) return []
    return value === true ? [`--${name}`] : [`--${name}`, String(value)]
  })
}

/** vLLM's parsers of tool calls, by the beginning of a model's name; other models answer without tools. */
const toolParsers: [RegExp, string][] = [
  [/^qwen3-coder/i, 'qwen3_coder'],
  [/^(qwen|qwq|hermes)/i, 'hermes'],
  [/^llama-3/i, 'llama3_json'],
  [/^(mistral|ministral|mixtral|devstral)/i, 'mistral'],
  [/^deepseek-v3/i, 'deepseek_v3'],
  [/^granite/i, 'granite'],
]

function findToolParser(modelName: string): string | undefined {
  return toolParsers.find(([pattern]) => pattern.test(modelName))?.[1]
}

function llamaCppArguments(spec: EngineSpec, source: Record<string, string>): string[] {
  const isEmbedding = spec.variant.modelType === 'embedding'
  // A text is embedded in one piece, so a batch must hold a whole context.
  const batch = isEmbedding ? spec.contextTokens : undefined
  return toArguments({
    ...source,
    alias: spec.modelUid,
    // The slots share the context.
    'ctx-size': spec.contextTokens * spec.parallelSequences,
    parallel: spec.parallelSequences,
    'n-gpu-layers': 999,
    host: '0.0.0.0',
    port: enginePort,
    'no-webui': true,
    metrics: true,
    embeddings: isEmbedding,
    'batch-size': batch,
    'ubatch-size': batch,
    jinja: !isEmbedding,
  })
}

/** llama.cpp finds the parts of a split file by itself from the first. */
function llamaCppSource(
  weights: Exclude<WeightSource, { kind: 'file' }>,
  endpoint: string,
): Record<string, string> | null {
  if (weights.kind === 'url') return { 'model-url': weights.url }
  const [file] = weights.files.toSorted()
  if (file === undefined) return null
  if (weights.revision === 'main') return { 'hf-repo': weights.repo, 'hf-file': file }
  // Its own options know no revision.
  const path = [...weights.repo.split('/'), 'resolve', weights.revision, ...file.split('/')]
  return { 'model-url': `${endpoint}/${path.map(encodeURIComponent).join('/')}` }
}
