import { resolve } from 'node:path'
import { z } from 'zod'
import { commaList, commandLine, oneOf, optionalText, webAddress, wholeNumber } from './values.ts'

/** Engines on this host. */
export interface LocalEngineConfig {
  /** Maximum context of a request to an LLM, in tokens */
  contextTokens: number
  /** Requests that one engine processes in parallel */
  parallelSequences: number
  /** Engines expected to be busy at the same time; they share the cores */
  expectedEngines: number
  /** Memory of one engine for states of conversations that have no sequence at the moment, in bytes */
  stateCacheBytes: number
  /** Memory for all engines in bytes; null for the memory of the host or container */
  memoryLimitBytes: number | null
  /** Command lines of the operator's engines, split at spaces; null for none */
  llamaServerCommand: readonly [string, ...string[]] | null
  vllmCommand: readonly [string, ...string[]] | null
  /** Limit of the weight cache in bytes; null for the disk except a tenth */
  maxWeightBytes: number | null
}

/** Ceilings for engines on GPUs that the operator has set. */
export interface EngineLimitsConfig {
  /** Tokens of one request; null for the context of each model */
  maxContextTokens: number | null
  /** Requests that one engine processes in parallel */
  maxSequences: number
  /** Share of each GPU's memory that an engine may use, above 0 and below 1 */
  gpuMemoryShare: number
}

/** The Kubernetes cluster that runs models. */
export interface KubernetesConfig {
  namespace: string
  /** Path of a kubeconfig file; null for the service account of the server's pod */
  kubeconfig: string | null
  /** null for the region of the instance type */
  region: string | null
  /** Names of the instance types that the cluster has nodes for; null for all in the file */
  instanceTypes: string[] | null
  gpusPerNode: number
  images: { vllm: string; llamaCpp: string }
  modelCache: { kind: 'claim'; name: string } | { kind: 'empty_dir'; sizeLimit: string | null }
  /** Address of an engine; `{service}` and `{namespace}` are replaced by those of its Service */
  engineAddress: string
  /** Private networks in CIDR notation that engines may reach */
  privateNetworks: string[]
  /** Milliseconds to wait for a node before trying the next instance type */
  capacityWaitMs: number
}

/** The Xinference clusters that run models. */
export interface XinferenceConfig {
  /** Origins of the supervisors */
  supervisors: string[]
  /** null if the supervisors require no sign-in */
  credentials: { username: string; password: string } | null
  /** The folder of the workers for uploaded files */
  uploadsFolder: string
}

const supervisor = webAddress('http://10.0.0.5:9997')
  .refine(
    ({ pathname }) => pathname === '/',
    'must be addresses without a path, such as http://10.0.0.5:9997',
  )
  .transform((url) => url.origin)

const containerImage = z
  .string()
  .trim()
  .regex(
    /^[a-z0-9][-\w./:]*(:[\w][-\w.]{0,127}|@sha256:[0-9a-f]{64})$/i,
    'must be an image with a tag or digest, such as vllm/vllm-openai:v0.32.0',
  )

/** The images of engines, vLLM's by the CUDA version that the nodes' driver supports. */
export const defaultImages = {
  // Users report that the images of 0.30 and 0.31 for CUDA 12.9 fail at their start.
  vllm: { '13': 'vllm/vllm-openai:v0.32.0', '12.9': 'vllm/vllm-openai:v0.29.0-cu129' },
  llamaCpp: 'ghcr.io/ggml-org/llama.cpp:server-cuda-b11459',
} as const

/** The settings of the compute backends. */
export const runtimesSettings = {
  RUNTIME: oneOf(['local', 'xinference', 'kubernetes']).default('local'),
  ENGINE_MAX_CONTEXT: wholeNumber(256, 16_777_216).optional(),
  ENGINE_MAX_SEQUENCES: wholeNumber(1, 4096).default(256),
  ENGINE_GPU_MEMORY_PERCENT: wholeNumber(10, 98).default(90),
  LOCAL_CONTEXT_TOKENS: wholeNumber(256, 1_048_576).default(32_768),
  LOCAL_PARALLEL_SEQUENCES: wholeNumber(1, 64).default(4),
  LOCAL_EXPECTED_ENGINES: wholeNumber(1, 1024).default(2),
  LOCAL_STATE_CACHE_MIB: wholeNumber(0, 1_000_000).default(128),
  LOCAL_MEMORY_LIMIT: wholeNumber(64 * 1024 * 1024, Number.MAX_SAFE_INTEGER).optional(),
  LLAMA_SERVER_COMMAND: commandLine.optional(),
  VLLM_COMMAND: commandLine.optional(),
  WEIGHTS_MAX_BYTES: wholeNumber(1024 * 1024, Number.MAX_SAFE_INTEGER).optional(),
  XINFERENCE_URLS: commaList
    .pipe(z.array(supervisor))
    .transform((origins) => [...new Set(origins)])
    .default([]),
  XINFERENCE_USERNAME: optionalText,
  XINFERENCE_PASSWORD: optionalText,
  XINFERENCE_UPLOADS_FOLDER: z
    .string()
    .trim()
    .regex(
      /^\/.*[^/]$/,
      'must be an absolute path without a slash at its end, such as /var/tmp/berth-uploads',
    )
    .default('/var/tmp/berth-uploads'),
  KUBECONFIG: optionalText,
  KUBERNETES_NAMESPACE: z
    .string()
    .trim()
    .regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, 'must be a name of a-z, 0-9 and dashes, such as berth')
    .default('berth'),
  KUBERNETES_REGION: optionalText,
  KUBERNETES_INSTANCE_TYPES: commaList
    .refine((names) => names.length > 0, 'must be names from the instance type file, separated by commas')
    .optional(),
  KUBERNETES_GPUS_PER_NODE: wholeNumber(1, 64).default(8),
  KUBERNETES_VLLM_IMAGE: containerImage.optional(),
  KUBERNETES_VLLM_CUDA: oneOf(['13', '12.9']).default('13'),
  KUBERNETES_LLAMACPP_IMAGE: containerImage.default(defaultImages.llamaCpp),
  KUBERNETES_MODEL_CACHE: z
    .string()
    .trim()
    .regex(
      /^(emptydir:[1-9]\d{0,9}[KMGT]i|[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?)$/,
      'must be emptydir, emptydir with a size such as emptydir:200Gi, or the name of a volume claim',
    )
    .default('emptydir'),
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
  KUBERNETES_CAPACITY_WAIT: wholeNumber(1, 3600).default(120),
}

type Settings = z.output<z.ZodObject<typeof runtimesSettings>>

export function readLocalEngine(settings: Settings): LocalEngineConfig {
  return {
    contextTokens: settings.LOCAL_CONTEXT_TOKENS,
    parallelSequences: settings.LOCAL_PARALLEL_SEQUENCES,
    expectedEngines: settings.LOCAL_EXPECTED_ENGINES,
    stateCacheBytes: settings.LOCAL_STATE_CACHE_MIB * 2 ** 20,
    memoryLimitBytes: settings.LOCAL_MEMORY_LIMIT ?? null,
    llamaServerCommand: settings.LLAMA_SERVER_COMMAND ?? null,
    vllmCommand: settings.VLLM_COMMAND ?? null,
    maxWeightBytes: settings.WEIGHTS_MAX_BYTES ?? null,
  }
}

export function readEngineLimits(settings: Settings): EngineLimitsConfig {
  return {
    maxContextTokens: settings.ENGINE_MAX_CONTEXT ?? null,
    maxSequences: settings.ENGINE_MAX_SEQUENCES,
    gpuMemoryShare: settings.ENGINE_GPU_MEMORY_PERCENT / 100,
  }
}

/** Returns the cluster, or null with another runtime. */
export function readKubernetes(settings: Settings): KubernetesConfig | null {
  if (settings.RUNTIME !== 'kubernetes') return null
  const cache = settings.KUBERNETES_MODEL_CACHE
  const [kind, sizeLimit = null] = cache.split(':')
  return {
    namespace: settings.KUBERNETES_NAMESPACE,
    kubeconfig: settings.KUBECONFIG === undefined ? null : resolve(settings.KUBECONFIG),
    region: settings.KUBERNETES_REGION ?? null,
    instanceTypes: settings.KUBERNETES_INSTANCE_TYPES ?? null,
    gpusPerNode: settings.KUBERNETES_GPUS_PER_NODE,
    images: {
      vllm: settings.KUBERNETES_VLLM_IMAGE ?? defaultImages.vllm[settings.KUBERNETES_VLLM_CUDA],
      llamaCpp: settings.KUBERNETES_LLAMACPP_IMAGE,
    },
    modelCache: kind === 'emptydir' ? { kind: 'empty_dir', sizeLimit } : { kind: 'claim', name: cache },
    engineAddress: settings.KUBERNETES_ENGINE_ADDRESS,
    privateNetworks: settings.KUBERNETES_PRIVATE_NETWORKS,
    capacityWaitMs: settings.KUBERNETES_CAPACITY_WAIT * 1000,
  }
}

/** Returns the clusters, or null with another runtime. Adds a problem for each missing setting. */
export function readXinference(settings: Settings, problems: string[]): XinferenceConfig | null {
  const { XINFERENCE_USERNAME: username, XINFERENCE_PASSWORD: password } = settings
  const credentials = username !== undefined && password !== undefined ? { username, password } : null
  if (credentials === null && (username !== undefined || password !== undefined)) {
    const missing = username === undefined ? 'XINFERENCE_USERNAME' : 'XINFERENCE_PASSWORD'
    problems.push(`${missing}: signing in requires a user name and a password; set both or neither`)
  }
  if (settings.RUNTIME !== 'xinference') return null
  if (settings.XINFERENCE_URLS.length === 0) {
    problems.push(
      'XINFERENCE_URLS: required with RUNTIME=xinference; set it to the addresses of the supervisors, such as http://10.0.0.5:9997',
    )
  }
  const uploadsFolder = settings.XINFERENCE_UPLOADS_FOLDER
  return { supervisors: settings.XINFERENCE_URLS, credentials, uploadsFolder }
}
