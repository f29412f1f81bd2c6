import type { Registry } from 'prom-client'
import type { Database } from '../../database/tables.ts'
import type { GpuFigures, HostEngines } from '../../ports/host-engines.ts'
import type { Services } from '../../services.ts'
import { addGauge, shareReading } from './gauges.ts'

/** A GPU and its holder; no deployment and no model for other programs, or if it is free */
interface GpuRow {
  gpu: string
  deployment: string
  model: string
  /** null when unknown */
  usedBytes: number | null
}

const labelNames = ['gpu', 'deployment', 'model'] as const

/** Adds gauges of the GPUs of this process's host, where the runtime knows them. */
export function measureGpus(
  register: Registry,
  { db, runtimes: { hostEngines } }: Pick<Services, 'db' | 'runtimes'>,
): void {
  if (hostEngines === undefined) return
  const read = shareReading(() => readGpus(db, hostEngines))
  addGauge(
    register,
    read,
    {
      name: 'berth_gpu_memory_bytes',
      help: 'Memory of a GPU of this host',
      labelNames: ['gpu', 'name'],
    },
    (gauge, { gpus }) => {
      for (const { id, name, totalBytes } of gpus) gauge.set({ gpu: id, name }, totalBytes)
    },
  )
  addGauge(
    register,
    read,
    {
      name: 'berth_gpu_memory_used_bytes',
      help: 'Memory of a GPU that a deployment uses; without deployment: that other programs use',
      labelNames,
    },
    (gauge, { gpus, held }) => {
      for (const { id, othersBytes } of gpus) gauge.set({ gpu: id, deployment: '', model: '' }, othersBytes)
      for (const { usedBytes, ...labels } of held) {
        if (usedBytes !== null) gauge.inc(labels, usedBytes)
      }
    },
  )
  addGauge(
    register,
    read,
    {
      name: 'berth_gpu_utilization_ratio',
      help: 'How busy a GPU was in the last moments, from 0 to 1, for each deployment that holds it or a share of it',
      labelNames,
    },
    (gauge, { gpus, held }) => {
      for (const { id, utilization, engines } of gpus) {
        if (utilization === null) continue
        if (engines.length === 0) gauge.set({ gpu: id, deployment: '', model: '' }, utilization)
        for (const { gpu, deployment, model } of held) {
          if (gpu === id) gauge.set({ gpu, deployment, model }, utilization)
        }
      }
    },
  )
}

async function readGpus(
  db: Database,
  hostEngines: HostEngines,
): Promise<{ gpus: GpuFigures[]; held: GpuRow[] }> {
  const gpus = await hostEngines.measureGpus()
  const ids = gpus.flatMap(({ engines }) => engines.map(({ engineId }) => engineId))
  const ownerOf = await findDeployments(db, ids)
  const held = gpus.flatMap(({ id: gpu, engines }) =>
    engines.flatMap(({ engineId, usedBytes }) => {
      const owner = ownerOf.get(engineId)
      return owner === undefined ? [] : [{ gpu, ...owner, usedBytes }]
    }),
  )
  return { gpus, held }
}

/** The deployments of instances, by the ids of these. */
async function findDeployments(
  db: Database,
  ids: readonly string[],
): Promise<Map<string, Pick<GpuRow, 'deployment' | 'model'>>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('instances')
    .innerJoin('deployments', 'deployments.id', 'instances.deployment_id')
    .select(['instances.id', 'deployments.id as deployment', 'deployments.model_name as model'])
    .where('instances.id', 'in', ids)
    .execute()
  return new Map(rows.map(({ id, ...owner }) => [id, owner]))
}
