import type { InstanceType } from '../../../ports/model-runtime.ts'

/** What the Kubernetes runtime writes to the server's log. */
export interface RuntimeLogger {
  info(details: object, message: string): void
  warn(details: object, message: string): void
}

/** Where pods keep model weights: on a volume claim that they share, or on their node's disk until they end. */
export type ModelCache = { kind: 'claim'; name: string } | { kind: 'empty_dir'; sizeLimit: string | null }

/** Settings of the runtime that runs each engine as a workload of one namespace of a Kubernetes cluster. */
export interface KubernetesRuntimeSettings {
  /** Nothing outside this namespace is read or written */
  namespace: string
  /** Path of a kubeconfig file; null: the service account of the pod that the server runs in */
  kubeconfig: string | null
  /** What region deployments report; null: that of the instance type */
  region: string | null
  /** The instance types that this cluster has nodes for */
  instanceTypes: readonly InstanceType[]
  /** GPUs of one node at most: what needs more is spread over several by a LeaderWorkerSet */
  gpusPerNode: number
  images: { vllm: string; llamaCpp: string }
  modelCache: ModelCache
  /** Address of an engine; `{service}` and `{namespace}` stand for its Service's */
  engineAddress: string
  /** Milliseconds that a pod may wait for a node before its instance type counts as not to be had */
  capacityWaitMs: number
  huggingFace: { endpoint: string; token: string | null }
  /** Proxies for downloads, and hosts (comma separated) reached without */
  proxy: { http: string | null; https: string | null; exceptions: string | null }
  logger: RuntimeLogger
}
