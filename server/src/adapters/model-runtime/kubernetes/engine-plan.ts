import { createHash } from 'node:crypto'
import type { EngineSpec, InstanceType, WeightSource } from '../../../ports/model-runtime.ts'
import { formatFileSize } from '../../../format-bytes.ts'
import { cacheFolder, enginePort, localFilePath } from './names.ts'
import type { KubernetesRuntimeSettings } from './settings.ts'

/** How to run an engine: image, arguments, and number of nodes. */
export interface EnginePlan {
  engine: 'vllm' | 'llama.cpp'
  image: string
  args: string[]
  nodes: number
  gpusPerPod: number
  /** Timeout in seconds for downloading and loading the model together */
  startupSeconds: number
  /** Number of Secrets that carry a local weights file to the pod; 0 if the engine downloads its weights */
  weightParts: number
}

export type PlanResult = { plan: EnginePlan } | { refusal: string }

const vllmFormats = ['pytorch', 'awq', 'gptq', 'fp8']
const llamaCppFormats = ['ggufv2']

/** The weight formats that this runtime supports. */
export const engineFormats = [...vllmFormats, ...llamaCppFormats]

const loadingSeconds = 20 * 60
/** Slowest accepted download rate, in bytes per second */
const slowestDownload = 10 * 2 ** 20
const unknownWeightBytes = 20 * 2 ** 30
/** A Secret holds at most 1 MiB. */
export const weightPartBytes = 1_000_000
const maxLocalFileBytes = 8 * weightPartBytes

/**
 * Plans how to run a spec on an instance type, or returns the reason why it can't run there. `localFileBytes` is the size of a
 * local weights file, or null if this server doesn't have it.
 */
export function planEngine(
  spec: EngineSpec,
  type: InstanceType,
  settings: Pick<KubernetesRuntimeSettings, 'images' | 'gpusPerNode' | 'huggingFace'>,
  localFileBytes: number | null,
): PlanResult {
  const { variant } = spec
  const nodes = Math.ceil(spec.gpuCount / settings.gpusPerNode)
  if (spec.gpuCount % nodes !== 0) {
    return {
      refusal: `${spec.gpuCount} GPUs can't be divided evenly among nodes with ${settings.gpusPerNode} GPUs.`,
    }
  }
  const common = {
    nodes,
    gpusPerPod: spec.gpuCount / nodes,
    startupSeconds: loadingSeconds + Math.ceil((variant.weightBytes ?? unknownWeightBytes) / slowestDownload),
    weightParts: variant.weights.kind === 'file' ? Math.ceil((localFileBytes ?? 0) / weightPartBytes) : 0,
  }
  if (vllmFormats.includes(variant.format)) {
    if (variant.weights.kind !== 'huggingface') {
      return { refusal: `vLLM can load ${variant.format} weights only from a Hugging Face repository.` }
    }
    const args = vllmArguments(spec, type, variant.weights, common)
    return { plan: { engine: 'vllm', image: settings.images.vllm, args, ...common } }
  }
  if (!llamaCppFormats.includes(variant.format)) {
    return {
      refusal: `This runtime does not support the format ${variant.format}. Supported formats: ${engineFormats.join(', ')}.`,
    }
  }
  if (nodes > 1) return { refusal: "llama.cpp can't run on several nodes." }
  if (variant.weights.kind === 'file') {
    const refusal = refuseLocalFile(variant.weights.path, localFileBytes)
    if (refusal !== null) return { refusal }
  }
  const source = llamaCppSource(variant.weights, settings.huggingFace.endpoint)
  if (source === null) return { refusal: 'The catalog entry lists no GGUF file.' }
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
  // GPUs before Ampere lack bfloat16, the default of most checkpoints.
  const isOldGpu = computeCapability !== null && computeCapability < 8
  // vLLM detects the method of a quantized checkpoint itself, and rejects a different one.
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

/** Builds command-line options: true is a bare flag; undefined and false are omitted. */
function toArguments(options: Record<string, string | number | boolean | undefined>): string[] {
  return Object.entries(options).flatMap(([name, value]) => {
    if (value === undefined || value === false) return []
    return value === true ? [`--${name}`] : [`--${name}`, String(value)]
  })
}

/** vLLM's tool-call parsers by model name prefix. Other models run without tool calls. */
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
  // llama.cpp embeds a text in one batch, so a batch must hold a full context.
  const batch = isEmbedding ? spec.contextTokens : undefined
  return toArguments({
    ...source,
    alias: spec.modelUid,
    // llama.cpp divides the context among its slots.
    'ctx-size': spec.contextTokens * spec.parallelSequences,
    parallel: spec.parallelSequences,
    'n-gpu-layers': 999,
    host: '0.0.0.0',
    port: enginePort,
    metrics: true,
    embeddings: isEmbedding,
    'batch-size': batch,
    'ubatch-size': batch,
    jinja: !isEmbedding,
  })
}

/**
 * llama.cpp finds the other parts of a split file from the first. `--model-url` alone starts a server without a model, so
 * `--model` names the file to download to. The folder keeps files of different URLs apart on a shared volume.
 */
function llamaCppSource(weights: WeightSource, endpoint: string): Record<string, string> | null {
  if (weights.kind === 'file') return { model: localFilePath }
  if (weights.kind === 'url') return downloadFrom(weights.url)
  const [file] = weights.files.toSorted()
  if (file === undefined) return null
  if (weights.revision === 'main') return { 'hf-repo': weights.repo, 'hf-file': file }
  // llama.cpp has no option for a revision.
  const path = [...weights.repo.split('/'), 'resolve', weights.revision, ...file.split('/')]
  return downloadFrom(`${endpoint}/${path.map(encodeURIComponent).join('/')}`)
}

function refuseLocalFile(path: string, bytes: number | null): string | null {
  if (bytes === null) return `The server does not have the weights file ${path} of the catalog.`
  if (bytes <= maxLocalFileBytes) return null
  const sizes = `${formatFileSize(bytes)}, and Berth copies at most ${formatFileSize(maxLocalFileBytes)} to a pod`
  return `The weights file ${path} of the catalog has ${sizes}. Publish it at a URL or on Hugging Face.`
}

function downloadFrom(url: string): Record<string, string> {
  const folder = createHash('sha256').update(url).digest('hex').slice(0, 16)
  const file = new URL(url).pathname.split('/').at(-1) || 'model.gguf'
  return { model: `${cacheFolder}/${folder}/${file}`, 'model-url': url }
}
