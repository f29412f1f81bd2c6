import { createHash } from 'node:crypto'
import type { EngineSpec, InstanceType } from '../../../ports/model-runtime.ts'
import type { WeightSource } from '../../../ports/model-variant.ts'
import type { RuntimeEngine } from '../../../ports/runtime-engine.ts'
import { formatFileSize } from '../../../base/format-bytes.ts'
import { buildLlamaServerArguments, llamaCpp } from '../engines/llama-cpp.ts'
import { buildVllmArguments, vllm } from '../engines/vllm.ts'
import { cacheFolder, enginePort, localFilePath } from './names.ts'
import type { KubernetesRuntimeSettings } from './settings.ts'

/** How to run an engine: image, arguments, and number of nodes. */
export interface EnginePlan {
  engine: 'vllm' | 'llama.cpp'
  image: string
  /** Arguments of the engine, or of the leader among several nodes */
  args: string[]
  /** Arguments of the other nodes */
  workerArgs: string[]
  nodes: number
  gpusPerPod: number
  /** Host memory that the engine of one pod uses, in bytes */
  hostMemoryBytes: number
  /** Timeout in seconds for downloading and loading the model together */
  startupSeconds: number
  /** Number of Secrets that carry a local weights file to the pod; 0 if the engine downloads its weights */
  weightParts: number
}

export type PlanResult = { plan: EnginePlan } | { refusal: string }

/** The weight formats that this runtime supports. */
const engineFormats: string[] = [...vllm.formats, ...llamaCpp.formats]

/** The engines of this runtime. The tags of their images tell the versions. */
export function listEngines(images: KubernetesRuntimeSettings['images']): RuntimeEngine[] {
  return [
    { ...vllm, version: /:v?(\d+\.\d+\.\d+)/.exec(images.vllm)?.[1] ?? null },
    { ...llamaCpp, version: /:[\w.-]*-b(\d+)$/.exec(images.llamaCpp)?.[1] ?? null },
  ]
}

/** What an image of llama.cpp calls its devices, by the name of the image */
function nameDevice(image: string): 'CUDA' | 'ROCm' | 'Vulkan' {
  return /rocm/i.test(image) ? 'ROCm' : /vulkan/i.test(image) ? 'Vulkan' : 'CUDA'
}

/** The formats that the images run on a type; none if they were built for the GPUs of another vendor. */
export function listFormats(
  { vendor, resource }: Pick<InstanceType, 'vendor' | 'resource'>,
  images: KubernetesRuntimeSettings['images'],
): string[] {
  if (vendor === 'apple') return []
  // vLLM would take its part of all memory, but each replica has only some.
  const isShared = resource?.endsWith('.shared') === true
  const runsVllm = !isShared && /rocm/i.test(images.vllm) === (vendor === 'amd')
  const device = nameDevice(images.llamaCpp)
  const runsLlamaCpp = device === 'Vulkan' || (device === 'ROCm') === (vendor === 'amd')
  return [...(runsVllm ? vllm.formats : []), ...(runsLlamaCpp ? llamaCpp.formats : [])]
}

const gibibyte = 2 ** 30
/** Memory of one GPU's vLLM process, and shared in the pod: a queue of 160 MiB exceeds the default 64 MiB. */
const vllmMemory = { process: 8 * gibibyte, shared: 4 * gibibyte, queue: gibibyte / 2 }
/** Host memory of llama-server besides its prompt cache, and the prompt cache */
const llamaCppMemory = { process: 2 * gibibyte, promptCache: 8 * gibibyte }

/** Shared memory of a pod in bytes, for messages and tensors between vLLM's processes; 0 for llama-server. */
export function getSharedMemoryBytes({
  engine,
  gpusPerPod,
}: Pick<EnginePlan, 'engine' | 'gpusPerPod'>): number {
  if (engine !== 'vllm') return 0
  return gpusPerPod > 1 ? vllmMemory.shared * gpusPerPod : vllmMemory.queue
}

const loadingSeconds = 20 * 60
/** Slowest accepted download rate, in bytes per second */
const slowestDownload = 10 * 2 ** 20
const unknownWeightBytes = 20 * 2 ** 30
/** A Secret holds at most 1 MiB. */
export const weightPartBytes = 1_000_000
const maxLocalFileBytes = 8 * weightPartBytes

/** Returns a plan, or the reason why a spec can't run here. `localFileBytes` is null without a local file. */
export function planEngine(
  spec: EngineSpec,
  type: InstanceType,
  settings: PlanSettings,
  localFileBytes: number | null,
): PlanResult {
  const { variant } = spec
  const nodes = Math.ceil(spec.gpuCount / settings.gpusPerNode)
  if (spec.gpuCount % nodes !== 0) {
    return {
      refusal: `${spec.gpuCount} GPUs can't be divided evenly among nodes with ${settings.gpusPerNode} GPUs.`,
    }
  }
  const placed: PlacedEngine = {
    spec,
    type,
    settings,
    localFileBytes,
    shape: {
      nodes,
      gpusPerPod: spec.gpuCount / nodes,
      startupSeconds:
        loadingSeconds + Math.ceil((variant.weightBytes ?? unknownWeightBytes) / slowestDownload),
      weightParts: variant.weights.kind === 'file' ? Math.ceil((localFileBytes ?? 0) / weightPartBytes) : 0,
    },
  }
  const planner = planners.find(({ engine }) => engine.formats.includes(variant.format))
  return (
    planner?.plan(placed) ?? {
      refusal: `This runtime does not support the format ${variant.format}. Supported formats: ${engineFormats.join(', ')}.`,
    }
  )
}

type PlanSettings = Pick<
  KubernetesRuntimeSettings,
  'images' | 'gpusPerNode' | 'gpuMemoryShare' | 'huggingFace' | 'mediaDomains' | 'server'
>

/** A spec on an instance type, with the part of its plan that is the same for all engines. */
interface PlacedEngine {
  spec: EngineSpec
  type: InstanceType
  settings: PlanSettings
  localFileBytes: number | null
  shape: Pick<EnginePlan, 'nodes' | 'gpusPerPod' | 'startupSeconds' | 'weightParts'>
}

const planners: { engine: RuntimeEngine; plan: (placed: PlacedEngine) => PlanResult }[] = [
  { engine: vllm, plan: planVllm },
  { engine: llamaCpp, plan: planLlamaCpp },
]

function planVllm({ spec, type, settings, shape }: PlacedEngine): PlanResult {
  const { weights, format } = spec.variant
  const { nodes, gpusPerPod } = shape
  if (weights.kind !== 'huggingface') {
    return { refusal: `vLLM can load ${format} weights only from a Hugging Face repository.` }
  }
  const build = (isWorker: boolean) =>
    buildVllmArguments({
      spec,
      model: weights.repo,
      revision: weights.revision,
      host: '0.0.0.0',
      port: enginePort,
      gpus: gpusPerPod,
      computeCapability: type.computeCapability,
      memoryShare: settings.gpuMemoryShare,
      mediaDomains: settings.mediaDomains,
      node: nodes === 1 ? undefined : { ...lwsNode, count: nodes, isWorker },
    })
  const shared = getSharedMemoryBytes({ engine: 'vllm', gpusPerPod })
  return {
    plan: {
      engine: 'vllm',
      image: settings.images.vllm,
      args: build(false),
      workerArgs: nodes === 1 ? [] : build(true),
      hostMemoryBytes: vllmMemory.process * gpusPerPod + shared,
      ...shape,
    },
  }
}

function planLlamaCpp({ spec, settings, localFileBytes, shape }: PlacedEngine): PlanResult {
  const { weights } = spec.variant
  const { endpoint } = settings.huggingFace
  if (shape.nodes > 1) return { refusal: "llama.cpp can't run on several nodes." }
  if (weights.kind === 'file') {
    const refusal = refuseLocalFile(weights.path, localFileBytes)
    if (refusal !== null) return { refusal }
  }
  if (weights.kind === 'upload' && settings.server === null) {
    return { refusal: 'Pods do not know where to download the uploaded file. Set ENGINE_SERVER_URL.' }
  }
  const source = locateWeights(weights, endpoint)
  if (source === null) return { refusal: 'The catalog entry lists no GGUF file.' }
  return {
    plan: {
      engine: 'llama.cpp',
      image: settings.images.llamaCpp,
      args: buildLlamaServerArguments({
        spec,
        source,
        projector: locateProjector(spec, endpoint),
        host: '0.0.0.0',
        port: enginePort,
        gpuLayers: allLayers,
        // Without its GPUs, llama-server would go on with the CPU, at their price.
        devices: Array.from(
          { length: shape.gpusPerPod },
          (_, index) => `${nameDevice(settings.images.llamaCpp)}${index}`,
        ),
        promptCacheMebibytes: llamaCppMemory.promptCache / 2 ** 20,
      }),
      workerArgs: [],
      hostMemoryBytes: llamaCppMemory.process + llamaCppMemory.promptCache,
      ...shape,
    },
  }
}

/** More layers than any model has */
const allLayers = 999

/** Kubernetes replaces these with the variables that LeaderWorkerSet sets in each pod. */
const lwsNode = { rank: '$(LWS_WORKER_INDEX)', leaderAddress: '$(LWS_LEADER_ADDRESS)' }

/**
 * From the first part, llama.cpp finds the others. `--model-url` alone loads no model, so `--model` names the
 * file. The folder keeps files of different URLs apart on a shared volume.
 */
function locateWeights(weights: WeightSource, endpoint: string): Record<string, string> | null {
  if (weights.kind === 'file') return { model: localFilePath }
  // The URL has a password, so it is in the environment.
  if (weights.kind === 'upload') return { model: `${cacheFolder}/uploads/${weights.sha256}.gguf` }
  if (weights.kind === 'url') return downloadFrom(weights.url)
  if (weights.kind === 'endpoint') return null
  const [file] = weights.files.toSorted()
  if (file === undefined) return null
  if (weights.revision === 'main') return { 'hf-repo': weights.repo, 'hf-file': file }
  // llama.cpp has no option for a revision.
  return downloadFrom(toHubUrl(weights, file, endpoint))
}

function locateProjector({ variant: { weights, engines } }: EngineSpec, endpoint: string) {
  const file = engines.llamaCpp?.projector
  if (file === undefined || weights.kind !== 'huggingface') return null
  const { model: mmproj, 'model-url': url } = downloadFrom(toHubUrl(weights, file, endpoint))
  return { mmproj, 'mmproj-url': url }
}

function toHubUrl(
  { repo, revision }: Extract<WeightSource, { kind: 'huggingface' }>,
  file: string,
  endpoint: string,
): string {
  const path = [...repo.split('/'), 'resolve', revision, ...file.split('/')]
  return `${endpoint}/${path.map(encodeURIComponent).join('/')}`
}

function refuseLocalFile(path: string, bytes: number | null): string | null {
  if (bytes === null) return `The server does not have the weights file ${path} of the catalog.`
  if (bytes <= maxLocalFileBytes) return null
  const sizes = `${formatFileSize(bytes)}, and Berth copies at most ${formatFileSize(maxLocalFileBytes)} to a pod`
  return `The weights file ${path} of the catalog has ${sizes}. Publish it at a URL or on Hugging Face.`
}

function downloadFrom(url: string): { model: string; 'model-url': string } {
  const folder = createHash('sha256').update(url).digest('hex').slice(0, 16)
  const file = new URL(url).pathname.split('/').at(-1) || 'model.gguf'
  return { model: `${cacheFolder}/${folder}/${file}`, 'model-url': url }
}
