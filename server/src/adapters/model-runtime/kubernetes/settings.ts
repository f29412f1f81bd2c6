import type { ProxySettings } from '../../../config/proxy.ts'
import type { InstanceType } from '../../../ports/model-runtime.ts'
import type { RuntimeLogger } from '../runtime-logger.ts'

/** Where pods keep model weights: on a shared volume claim, or on their node's disk until the pod ends. */
export type ModelCache = { kind: 'claim'; name: string } | { kind: 'empty_dir'; sizeLimit: string | null }

/** Settings of the runtime that runs engines in one namespace of a Kubernetes cluster. */
export interface KubernetesRuntimeSettings {
  /** The only namespace that the runtime reads and writes */
  namespace: string
  /** Path of a kubeconfig file; null uses the service account of the server's pod */
  kubeconfig: string | null
  /** Instance types that the cluster offers */
  instanceTypes: readonly InstanceType[]
  /** Maximum GPUs of one node. Larger engines run on several nodes in a LeaderWorkerSet */
  gpusPerNode: number
  images: { vllm: string; llamaCpp: string }
  /** Share of each GPU's memory that engines may use, above 0 and at most 1 */
  gpuMemoryShare: number
  modelCache: ModelCache
  /** Relative paths of local weights files start here */
  catalogDirectory: string
  /** URL of an engine; `{service}` and `{namespace}` are replaced with those of its Service */
  engineAddress: string
  /** Milliseconds that a pod may wait for a node before its instance type counts as unavailable */
  capacityWaitMs: number
  huggingFace: { endpoint: string; token: string | null }
  /** Proxies for downloads; `exceptions` lists hosts that bypass them, separated by commas */
  proxy: ProxySettings
  /** Hosts that engines may fetch media from */
  mediaDomains: readonly string[]
  /** The server that engines download uploaded models from, and the port of its pods; null if they can't */
  server: { url: string; port: number } | null
  /** Private networks in CIDR notation that engines may reach, such as that of a mirror */
  privateNetworks: readonly string[]
  logger: RuntimeLogger
}
