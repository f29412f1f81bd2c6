import { resolve } from 'node:path'
import { unescape as decodeText } from 'node:querystring'
import { z } from 'zod'
import { commaList, commandLine, oneOf, optionalText, positiveNumber, size, wholeNumber } from './values.ts'

const runtimeNames = ['local', 'xinference', 'kubernetes', 'endpoints'] as const
export type RuntimeName = (typeof runtimeNames)[number]

/** The compute backends, their engines, and when their hardware is released. */
export interface RuntimesConfig {
  /** In the order of preference among equal offers; each at most once */
  runtimes: readonly RuntimeName[]
  engines: EnginesConfig
  localEngine: LocalEngineConfig
  xinference: XinferenceConfig
  /** null unless `runtimes` has kubernetes */
  kubernetes: KubernetesConfig | null
  /** Minutes without a request after which new deployments fall asleep; null: never by themselves */
  defaultIdleMinutes: number | null
  /** How long the load must ask for fewer instances before one is released */
  scaleDownMilliseconds: number
  pace: PaceConfig
}

/** Milliseconds between steps of the work on deployments. */
export interface PaceConfig {
  /** By then, every process has seen that an instance drains, and reported the requests admitted before. */
  drainNotice: number
  /** Between two reports of the requests in flight */
  loadReport: number
  /** Between two decisions on the number of instances */
  scaling: number
}

/** Ceilings for engines. */
export interface EnginesConfig {
  /** Tokens of one request; null for the context of each model on a GPU, and for 32,768 elsewhere */
  maxContextTokens: number | null
  /** Requests that one engine processes in parallel; null for 256 on a GPU, and for 4 elsewhere */
  maxSequences: number | null
  /** Share of each GPU's memory that an engine may use, above 0 and below 1 */
  gpuMemoryShare: number
}

/** Engines on this host. */
export interface LocalEngineConfig {
  /** Memory for all engines in bytes; null for the memory of the host or container */
  memoryLimitBytes: number | null
  /** The largest model for the CPU beside GPUs, in billions of parameters */
  cpuMaxBillions: number
  /** Into how many shares each GPU is also offered; 1 for whole GPUs only */
  gpuShares: number
  /** Command lines of the operator's engines, split at spaces; null for none */
  llamaServerCommand: readonly [string, ...string[]] | null
  vllmCommand: readonly [string, ...string[]] | null
  /** Limit of the weight cache in bytes; null for the disk except a tenth */
  maxWeightBytes: number | null
}

/** The Kubernetes cluster that runs models. */
export interface KubernetesConfig {
  namespace: string
  /** Path of a kubeconfig file; null for the service account of the server's pod */
  kubeconfig: string | null
  /** Names of the instance types that the cluster has nodes for; null for all in the file */
  instanceTypes: string[] | null
  gpusPerNode: number
  images: { vllm: string; llamaCpp: string }
  /** `sizeLimit` is a quantity of Kubernetes. */
  modelCache: { kind: 'claim'; name: string } | { kind: 'empty_dir'; sizeLimit: string | null }
  /** Address of an engine; `{service}` and `{namespace}` are replaced by those of its Service */
  engineAddress: string
  /** Private networks in CIDR notation that engines may reach */
  privateNetworks: string[]
  /** Milliseconds to wait for a node before trying the next instance type */
  capacityWaitMs: number
}

/** The Xinference clusters that run models, besides the installation's own. */
export interface XinferenceConfig {
  /** Empty unless `runtimes` has xinference */
  supervisors: { origin: string; credentials: { username: string; password: string } | null }[]
  /** The folder of the workers for uploaded files */
  uploadsFolder: string
}

const supervisorMessage =
  'must be addresses without a path, such as http://10.0.0.5:9997, or http://user:password@10.0.0.5:9997 for a sign-in'

const supervisor = z
  .url({ protocol: /^https?$/, error: supervisorMessage, abort: true })
  .transform((text) => new URL(text))
  .refine(
    ({ username, password, pathname, search, hash }) =>
      pathname + search + hash === '/' && (username === '') === (password === ''),
    supervisorMessage,
  )
  .transform(({ origin, username, password }) => ({
    origin,
    credentials: username === '' ? null : { username: decodeText(username), password: decodeText(password) },
  }))

const containerImage = z
  .string()
  .trim()
  .regex(
    /^[a-z0-9][-\w./:]*(:[\w][-\w.]{0,127}|@sha256:[0-9a-f]{64})$/i,
    'must be an image with a tag or digest, such as vllm/vllm-openai:v0.32.0',
  )

/** The images of engines. */
export const defaultImages = {
  vllm: 'vllm/vllm-openai:v0.32.0',
  llamaCpp: 'ghcr.io/ggml-org/llama.cpp:server-cuda-b11459',
}

/** `emptydir`, with a size limit after a colon, or the name of a volume claim */
const modelCache = z
  .string()
  .trim()
  .transform((text, context): KubernetesConfig['modelCache'] => {
    const [kind, limit] = text.split(':')
    if (kind !== 'emptydir' && /^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/.test(text))
      return { kind: 'claim', name: text }
    const bytes = size({ least: '1MiB', most: '1024TiB' }).optional().safeParse(limit)
    if (kind === 'emptydir' && bytes.success)
      return { kind: 'empty_dir', sizeLimit: bytes.data?.toString() ?? null }
    context.addIssue(
      'must be emptydir, emptydir with a size such as emptydir:200GiB, or the name of a volume claim',
    )
    return z.NEVER
  })

/** The settings of the compute backends. */
export const runtimesSettings = {
  RUNTIME: commaList
    .pipe(z.array(oneOf(runtimeNames)).min(1, `must be one or more of ${runtimeNames.join(', ')}`))
    .refine((names) => new Set(names).size === names.length, 'must name each runtime once')
    .default(['local']),
  ENGINE_MAX_CONTEXT: wholeNumber(256, 16_777_216).optional(),
  ENGINE_MAX_SEQUENCES: wholeNumber(1, 4096).optional(),
  DEFAULT_IDLE_MINUTES: wholeNumber(1, 10_080).optional(),
  LOCAL_MEMORY_LIMIT: size({ least: '64MiB', most: '1024TiB' }).optional(),
  LOCAL_CPU_MAX_BILLIONS: positiveNumber(100_000).default(1),
  GPU_SHARES: wholeNumber(1, 16).default(1),
  LLAMA_SERVER_COMMAND: commandLine.optional(),
  VLLM_COMMAND: commandLine.optional(),
  WEIGHTS_LIMIT: size({ least: '1MiB', most: '1024TiB' }).optional(),
  XINFERENCE_URLS: commaList.pipe(z.array(supervisor)).default([]),
  KUBECONFIG: optionalText,
  KUBERNETES_NAMESPACE: z
    .string()
    .trim()
    .regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, 'must be a name of a-z, 0-9 and dashes, such as berth')
    .default('berth'),
  KUBERNETES_INSTANCE_TYPES: commaList
    .refine((names) => names.length > 0, 'must be names from the instance type file, separated by commas')
    .optional(),
  KUBERNETES_VLLM_IMAGE: containerImage.default(defaultImages.vllm),
  KUBERNETES_LLAMACPP_IMAGE: containerImage.default(defaultImages.llamaCpp),
  KUBERNETES_MODEL_CACHE: modelCache.prefault('emptydir'),
  KUBERNETES_ENGINE_ADDRESS: z
    .string()
    .trim()
    .refine(
      (text) => text.includes('{service}') && /^https?:\/\/[^\s?#]+[^\s?#/]$/.test(text),
      'must be an address with {service} in it, such as http://{service}.{namespace}.svc:8000',
    )
    .default('http://{service}.{namespace}.svc:8000'),
  KUBERNETES_PRIVATE_NETWORKS: commaList
    .pipe(z.array(z.union([z.cidrv4(), z.cidrv6()], 'must be networks such as 10.20.0.0/16')))
    .default([]),
}

type Settings = z.output<z.ZodObject<typeof runtimesSettings>>

/** Adds a problem for each setting that the backend lacks. */
export function readRuntimes(settings: Settings, problems: string[]): RuntimesConfig {
  return {
    runtimes: settings.RUNTIME,
    engines: {
      maxContextTokens: settings.ENGINE_MAX_CONTEXT ?? null,
      maxSequences: settings.ENGINE_MAX_SEQUENCES ?? null,
      gpuMemoryShare: 0.9,
    },
    localEngine: {
      memoryLimitBytes: settings.LOCAL_MEMORY_LIMIT ?? null,
      cpuMaxBillions: settings.LOCAL_CPU_MAX_BILLIONS,
      gpuShares: settings.GPU_SHARES,
      llamaServerCommand: settings.LLAMA_SERVER_COMMAND ?? null,
      vllmCommand: settings.VLLM_COMMAND ?? null,
      maxWeightBytes: settings.WEIGHTS_LIMIT ?? null,
    },
    xinference: readXinference(settings, problems),
    kubernetes: readKubernetes(settings),
    defaultIdleMinutes: settings.DEFAULT_IDLE_MINUTES ?? null,
    scaleDownMilliseconds: 300_000,
    pace: { drainNotice: 3_000, loadReport: 1_000, scaling: 2_000 },
  }
}

function readKubernetes(settings: Settings): KubernetesConfig | null {
  if (!settings.RUNTIME.includes('kubernetes')) return null
  return {
    namespace: settings.KUBERNETES_NAMESPACE,
    kubeconfig: settings.KUBECONFIG === undefined ? null : resolve(settings.KUBECONFIG),
    instanceTypes: settings.KUBERNETES_INSTANCE_TYPES ?? null,
    gpusPerNode: 8,
    images: { vllm: settings.KUBERNETES_VLLM_IMAGE, llamaCpp: settings.KUBERNETES_LLAMACPP_IMAGE },
    modelCache: settings.KUBERNETES_MODEL_CACHE,
    engineAddress: settings.KUBERNETES_ENGINE_ADDRESS,
    privateNetworks: settings.KUBERNETES_PRIVATE_NETWORKS,
    capacityWaitMs: 120_000,
  }
}

function readXinference(settings: Settings, problems: string[]): XinferenceConfig {
  const uploadsFolder = '/var/tmp/berth-uploads'
  if (!settings.RUNTIME.includes('xinference')) return { supervisors: [], uploadsFolder }
  const supervisors = new Map(settings.XINFERENCE_URLS.map((each) => [each.origin, each]))
  if (supervisors.size === 0) {
    problems.push(
      'XINFERENCE_URLS: required with RUNTIME=xinference; set it to the addresses of the supervisors, such as http://10.0.0.5:9997',
    )
  }
  return { supervisors: [...supervisors.values()], uploadsFolder }
}
