import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { ClusterMachine } from '../../../ports/own-cluster.ts'
import { isWorker, readGpus, toHost } from './cluster.ts'
import type { Clusters } from './clusters.ts'
import { toEngineId } from './context.ts'
import { SupervisorError } from './errors.ts'
import * as schemas from './response-schemas.ts'
import type { OwnClusterHost } from './settings.ts'
import type { Supervisor } from './supervisor.ts'

/** How long a worker may take to accept a connection before it counts as gone */
const connectMs = 1_500
const patienceMs = 1_000

/** The machines of all clusters. Those of a cluster that doesn't respond are missing, or unknown. */
export async function listMachines(
  clusters: Pick<Clusters, 'supervisors' | 'own'>,
  host: Pick<OwnClusterHost, 'withAbsent'> | undefined,
): Promise<ClusterMachine[]> {
  const { own } = clusters
  const lists = await Promise.all(
    clusters.supervisors.map(async (supervisor) => {
      const present = await readMachines(supervisor, supervisor === own).catch((error: unknown) => {
        if (error instanceof SupervisorError) return null
        throw error
      })
      return supervisor === own && host !== undefined ? host.withAbsent(present) : (present ?? [])
    }),
  )
  return lists.flat()
}

/** The machines that a supervisor lists. It notices a loss late, so Berth asks those of the own cluster. */
async function readMachines(supervisor: Supervisor, isOwn: boolean): Promise<ClusterMachine[]> {
  const [status, info, models] = await Promise.all([
    supervisor.get('/status', schemas.status),
    supervisor.get('/v1/cluster/info?detailed=true', schemas.clusterInfo),
    readModels(supervisor),
  ])
  const now = new Date()
  return Promise.all(
    Object.entries(status.workers).map(
      async ([worker, { failure_remaining_count: chances, status: resources }]) => {
        const address = toHost(worker)
        const isThere = chances !== 0 && (!isOwn || (await accepts(worker)))
        const facts = info.find(
          ({ node_type, ip_address }) => isWorker(node_type) && toHost(ip_address) === address,
        )
        return {
          address,
          state: isThere ? ('present' as const) : ('left' as const),
          lastSeenAt: isThere ? now : null,
          version: facts?.software_version ?? null,
          cpuCount: facts?.cpu_count ?? null,
          memoryBytes: facts?.mem_total ?? null,
          freeBytes: facts?.mem_available ?? null,
          gpus: readGpus(resources ?? {}, new Set()).map(({ name, totalBytes, freeBytes }) => ({
            name,
            memoryBytes: totalBytes,
            freeBytes,
          })),
          engineIds: models
            .filter((model) => toHost(model.address ?? '') === address)
            .flatMap(({ id }) => toEngineId(id) ?? []),
        }
      },
    ),
  )
}

const lastModels = new WeakMap<Supervisor, Models>()
type Models = (typeof schemas.models)['_output']['data']

/** A supervisor lists no models, or only late, while it waits for a machine that has left. */
async function readModels(supervisor: Supervisor): Promise<Models> {
  const reading = supervisor.get('/v1/models', schemas.models).then(
    ({ data }) => void lastModels.set(supervisor, data),
    () => undefined,
  )
  await Promise.race([reading, delay(patienceMs, undefined, { ref: false })])
  return lastModels.get(supervisor) ?? []
}

/** Whether a program accepts connections at `10.0.0.7:31207`. */
function accepts(address: string): Promise<boolean> {
  const [host = '', port] = address.split(/:(?=\d+$)/)
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(port), timeout: connectMs })
    const end = (result: boolean) => {
      socket.destroy()
      resolve(result)
    }
    socket.once('connect', () => end(true))
    socket.once('timeout', () => end(false))
    socket.once('error', () => end(false))
  })
}
