import { SupervisorError } from './errors.ts'
import * as schemas from './response-schemas.ts'
import type { Supervisor } from './supervisor.ts'

export interface Gpu {
  /** Xinference's index of the GPU on its host, as in a model's `accelerators` */
  index: string
  name: string | null
  totalBytes: number
  freeBytes: number
  /** A listed model runs on this GPU */
  isUsed: boolean
}

/** A host with one or more workers of a cluster. */
export interface ClusterNode {
  supervisor: Supervisor
  /** Address without a port */
  host: string
  gpus: Gpu[]
  memoryBytes: number
  availableMemoryBytes: number
  /** Uids of all models that the cluster lists */
  models: Set<string>
}

/** Reads hosts and their free resources, which are some seconds old. Throws SupervisorError. */
export async function readNodes(supervisor: Supervisor): Promise<ClusterNode[]> {
  await supervisor.checkVersion()
  const [status, info, models] = await Promise.all([
    supervisor.get('/status', schemas.status),
    supervisor.get('/v1/cluster/info?detailed=true', schemas.clusterInfo),
    supervisor.get('/v1/models', schemas.models),
  ])
  const uids = new Set(models.data.map(({ id }) => id))
  const nodes = new Map<string, ClusterNode>()
  for (const [address, worker] of Object.entries(status.workers)) {
    // Skip a worker that has missed all its health checks.
    if (worker.failure_remaining_count === 0) continue
    const host = toHost(address)
    if (nodes.has(host)) continue
    const used = new Set(
      models.data
        .filter((model) => toHost(model.address ?? '') === host)
        .flatMap(({ accelerators }) => accelerators ?? []),
    )
    const facts = info.find(({ node_type, ip_address }) => isWorker(node_type) && toHost(ip_address) === host)
    const reported = readGpus(worker.status ?? {}, used)
    const gpus = reported.length > 0 ? reported : divideEvenly(facts, used)
    const memoryBytes = facts?.mem_total ?? 0
    // A worker that has just joined has not reported its resources yet.
    if (gpus.length === 0 && memoryBytes === 0) continue
    nodes.set(host, {
      supervisor,
      host,
      gpus,
      memoryBytes,
      availableMemoryBytes: facts?.mem_available ?? 0,
      models: uids,
    })
  }
  return [...nodes.values()]
}

/** Lists models that are running, being launched, or unknown at the moment. Throws SupervisorError. */
export async function listLaunched(supervisor: Supervisor): Promise<string[]> {
  const [models, instances] = await Promise.all([
    supervisor.get('/v1/models', schemas.models),
    supervisor.listInstances(),
  ])
  const uids = new Set(models.data.map(({ id }) => id))
  for (const { uid, status } of instances) {
    if (status === 'ERROR' || uids.has(uid)) continue
    // The list is some seconds old, and the instance of a model whose worker died stays READY forever.
    if (status === 'READY' && !(await mayExist(supervisor, uid))) continue
    uids.add(uid)
  }
  return [...uids]
}

/** False once a supervisor lost a model. Until it notices a dead worker, it can't describe models there. */
async function mayExist(supervisor: Supervisor, uid: string): Promise<boolean> {
  try {
    return (await supervisor.describe(uid)).state !== 'unknown'
  } catch (error) {
    if (error instanceof SupervisorError) return true
    throw error
  }
}

export function isWorker(nodeType: string): boolean {
  return nodeType.toLowerCase() === 'worker'
}

/** Removes the port from `10.0.0.7:31207` or `[::1]:31207`. */
export function toHost(address: string): string {
  return address.replace(/:\d+$/, '')
}

export function readGpus(status: Record<string, unknown>, used: Set<string>): Gpu[] {
  return Object.entries(status).flatMap(([key, value]) => {
    const index = /^gpu-(\d+)$/.exec(key)?.[1]
    const parsed = schemas.gpuStatus.safeParse(value)
    if (index === undefined || !parsed.success || parsed.data.mem_total === 0) return []
    const { name, mem_total, mem_free } = parsed.data
    return {
      index,
      name: name ?? null,
      totalBytes: mem_total,
      freeBytes: mem_free ?? mem_total,
      isUsed: used.has(index),
    }
  })
}

/** Divides a host's total memory evenly among its GPUs, for clusters that report no GPU individually. */
function divideEvenly(
  facts: (typeof schemas.clusterInfo)['_output'][number] | undefined,
  used: Set<string>,
): Gpu[] {
  const count = facts?.gpu_count ?? 0
  const total = facts?.gpu_vram_total ?? 0
  if (!Number.isInteger(count) || count > 1024 || total === 0) return []
  return Array.from({ length: count }, (_, index) => ({
    index: String(index),
    name: null,
    totalBytes: total / count,
    freeBytes: (facts?.gpu_vram_available ?? total) / count,
    isUsed: used.has(String(index)),
  }))
}
