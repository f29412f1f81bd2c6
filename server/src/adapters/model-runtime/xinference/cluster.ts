import * as answers from './answers.ts'
import type { Supervisor } from './supervisor.ts'

export interface Gpu {
  /** The number that Xinference has for it on its host, as in a model's `accelerators` */
  index: string
  name: string | null
  totalBytes: number
  freeBytes: number
  /** A model that is listed runs on it */
  isUsed: boolean
}

/** A host that runs one or several of a cluster's workers. */
export interface Node {
  supervisor: Supervisor
  /** Its address without a port */
  host: string
  gpus: Gpu[]
  memoryBytes: number
  availableMemoryBytes: number
  /** The uids of all models that the cluster lists */
  models: Set<string>
}

/** The hosts of a cluster with what is free of them, as the supervisor knows it: some seconds old. Throws a SupervisorFault. */
export async function readNodes(supervisor: Supervisor): Promise<Node[]> {
  await supervisor.requireVersion()
  const [status, info, models] = await Promise.all([
    supervisor.read('/status', answers.status),
    supervisor.read('/v1/cluster/info?detailed=true', answers.clusterInfo),
    supervisor.read('/v1/models', answers.models),
  ])
  const uids = new Set(models.data.map(({ id }) => id))
  const nodes = new Map<string, Node>()
  for (const [address, worker] of Object.entries(status.workers)) {
    // A worker whose last chance to answer is gone.
    if (worker.failure_remaining_count === 0) continue
    const host = toHost(address)
    if (nodes.has(host)) continue
    const used = new Set(
      models.data
        .filter((model) => toHost(model.address ?? '') === host)
        .flatMap(({ accelerators }) => accelerators ?? []),
    )
    const facts = info.find(({ node_type, ip_address }) => isWorker(node_type) && toHost(ip_address) === host)
    const seen = readGpus(worker.status ?? {}, used)
    nodes.set(host, {
      supervisor,
      host,
      gpus: seen.length > 0 ? seen : shareOut(facts, used),
      memoryBytes: facts?.mem_total ?? 0,
      availableMemoryBytes: facts?.mem_available ?? 0,
      models: uids,
    })
  }
  return [...nodes.values()]
}

/** The uids of all models that are served or being launched. Throws a SupervisorFault. */
export async function listLaunched(supervisor: Supervisor): Promise<string[]> {
  const [models, instances] = await Promise.all([
    supervisor.read('/v1/models', answers.models),
    supervisor.read('/v1/models/instances', answers.instances),
  ])
  const uids = new Set(models.data.map(({ id }) => id))
  for (const { model_uid: uid, status } of instances) {
    if (status === 'TERMINATED' || status === 'ERROR' || uids.has(uid)) continue
    // The list is some seconds old, and of a model that went with its worker the instance stays ready for good.
    if (status === 'READY' && (await supervisor.describe(uid)).state === 'unknown') continue
    uids.add(uid)
  }
  return [...uids]
}

function isWorker(nodeType: string): boolean {
  return nodeType.toLowerCase() === 'worker'
}

/** `10.0.0.7:31207` and `[::1]:31207` without the port. */
function toHost(address: string): string {
  return address.replace(/:\d+$/, '')
}

function readGpus(status: Record<string, unknown>, used: Set<string>): Gpu[] {
  return Object.entries(status).flatMap(([key, value]) => {
    const index = /^gpu-(\d+)$/.exec(key)?.[1]
    const parsed = answers.gpuStatus.safeParse(value)
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

/** GPUs of which only the number and the sums are told: all alike. */
function shareOut(
  facts: (typeof answers.clusterInfo)['_output'][number] | undefined,
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
