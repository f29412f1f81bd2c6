import type { SimulatedModel } from './models.ts'

export interface SimulatedWorker {
  ip: string
  /** Of its actor; default 41001 */
  port?: number
  gpus: { name: string; memoryBytes: number }[]
  memoryBytes: number
}

/** A simulated cluster. `occupied` lists GPUs, as `ip/index`, that a process outside Xinference uses. */
export interface SimulatedCluster {
  workers: SimulatedWorker[]
  models: Map<string, SimulatedModel>
  occupied: Set<string>
  uptime: number
}

/** One host without GPUs. */
export const hostWorker: SimulatedWorker = { ip: '127.0.0.1', gpus: [], memoryBytes: 16 * 2 ** 30 }

/** Seconds since the epoch, Xinference's time format. */
export const now = () => Math.floor(Date.now() / 1000)

/** An item of `GET /v1/models`. */
export function listModel(model: SimulatedModel): Record<string, unknown> {
  return { id: model.uid, object: 'model', created: 0, owned_by: 'xinference', ...describeModel(model) }
}

/** The response of `GET /v1/models/{uid}`. */
export function describeModel({ body, worker, gpus }: SimulatedModel): Record<string, unknown> {
  return {
    model_type: body.model_type,
    address: `${worker}:42000`,
    accelerators: gpus.map(String),
    model_name: body.model_name,
    model_format: body.model_format,
    quantization: body.quantization,
    replica: 1,
  }
}

/** `GET /v1/models/{uid}/progress`; 0 for an unknown model. */
export function describeProgress(model: SimulatedModel | undefined, hasStages: boolean): unknown {
  if (model?.status === 'READY') {
    return hasStages ? { progress: 1, stage: 'loading', download_files: [], replicas: [] } : { progress: 1 }
  }
  const launching = model?.status === 'CREATING' ? model : undefined
  const stage = launching?.stage ?? 'pending'
  const progress = { pending: 0, launching: 0, downloading: 0.4, loading: 0.8 }[stage]
  if (!hasStages) return { progress }
  const file = {
    file_name: 'model.gguf',
    downloaded_bytes: 500_000,
    total_bytes: 1_000_000,
    replica_id: 0,
  }
  return { progress, stage, download_files: stage === 'downloading' ? [file] : [], replicas: [] }
}

/** `GET /v1/models/instances`; omits terminated instances but keeps failed ones. */
export function listInstances(models: Iterable<SimulatedModel>, uid: string | null): unknown {
  return [...models]
    .filter((model) => model.status !== 'TERMINATED' && (uid === null || model.uid === uid))
    .map((model) => ({
      model_name: model.body.model_name,
      model_uid: model.uid,
      model_version: null,
      model_ability: ['chat'],
      replica: 1,
      status: model.outdatedStatus ?? model.status,
      instance_created_ts: model.createdTs,
      n_worker: 1,
      replica_statuses: listReplicas(model),
    }))
}

/** `GET /v1/models/{uid}/replicas`, with the fields that all versions send. */
export function listReplicas(model: SimulatedModel | undefined) {
  if (model === undefined || model.status === 'TERMINATED') return []
  return [
    {
      replica_id: 0,
      replica_model_uid: `${model.uid}-rep0`,
      worker_address: `${model.worker}:41001`,
      status: model.status,
      created_ts: model.createdTs,
      error_message: model.replicaError === '' ? null : model.replicaError,
    },
  ]
}

/** `GET /status` */
export function readStatus(cluster: SimulatedCluster): unknown {
  const workers = cluster.workers.map((worker) => {
    const gpus = worker.gpus.map(({ name, memoryBytes }, index) => {
      const free = readFreeMemory(cluster, worker, index)
      return [`gpu-${index}`, { name, mem_total: memoryBytes, mem_free: free, mem_used: memoryBytes - free }]
    })
    const status = { cpu: { usage: 0.1 }, ...Object.fromEntries(gpus) }
    return [
      `${worker.ip}:${worker.port ?? 41001}`,
      { update_time: now(), failure_remaining_count: 5, status },
    ]
  })
  return { uptime: cluster.uptime, workers: Object.fromEntries(workers) }
}

/** `GET /v1/cluster/info`; video memory is text, or bytes with `detailed=true`. */
export function readClusterInfo(cluster: SimulatedCluster, detailed: boolean): unknown {
  const toVideoMemory = (bytes: number) =>
    detailed ? bytes : bytes === 0 ? 0 : `${Math.round(bytes / 2 ** 20)}MiB`
  const workers = cluster.workers.map((worker) => ({
    node_type: 'Worker',
    ip_address: worker.ip,
    gpu_count: worker.gpus.length,
    gpu_vram_total: toVideoMemory(sum(worker.gpus.map(({ memoryBytes }) => memoryBytes))),
    gpu_vram_available: toVideoMemory(
      sum(worker.gpus.map((_, index) => readFreeMemory(cluster, worker, index))),
    ),
    cpu_count: 8,
    mem_total: worker.memoryBytes,
    mem_available: worker.memoryBytes * 0.9,
    software_version: '4.1.0',
  }))
  return [{ node_type: 'Supervisor', ip_address: '127.0.0.1' }, ...workers]
}

function readFreeMemory(
  { models, occupied }: SimulatedCluster,
  worker: SimulatedWorker,
  index: number,
): number {
  const isUsed = [...models.values()].some(
    (model) => model.worker === worker.ip && model.status === 'READY' && model.gpus.includes(index),
  )
  const share = isUsed || occupied.has(`${worker.ip}/${index}`) ? 0.05 : 1
  return (worker.gpus[index]?.memoryBytes ?? 0) * share
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
