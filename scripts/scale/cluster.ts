// A simulated Kubernetes or Xinference cluster in a process of its own, so that its work does not count as
// the server's. `openCluster` starts it.
import { makeSpec, openRuntime } from '../../server/test/kubernetes/runtime-fixtures.ts'
import { startKubernetesApi } from '../../server/test/kubernetes/api-double.ts'
import { startXinferenceSimulator } from '../../server/test/xinference/simulator/simulator.ts'

/** What a cluster is asked to do. */
export interface ClusterOrders {
  /** Runs engines with these ids */
  run(ids: readonly string[]): Promise<void>
  /** Makes the pod or the model of an engine vanish */
  lose(id: string): void
  /** All requests so far */
  listRequests(): readonly string[]
}

/** How to run Berth with the cluster. */
interface Cluster {
  settings: Record<string, string>
  orders: ClusterOrders
}

async function openKubernetes(): Promise<Cluster> {
  const api = await startKubernetesApi()
  const runtime = await openRuntime(api)
  return {
    settings: { RUNTIME: 'kubernetes', KUBECONFIG: api.kubeconfig },
    orders: {
      /** The adapter makes the objects of the first engine, and the others get copies. */
      async run([first, ...others]) {
        if (first === undefined) return
        await runtime.provision(makeSpec(first))
        api.startPod(first)
        await runtime.ensureEngine(makeSpec(first))
        api.copyEngine(first, others)
      },
      lose: (id) => api.losePod(id),
      listRequests: () => api.requests,
    },
  }
}

async function openXinference(): Promise<Cluster> {
  const simulator = await startXinferenceSimulator({ withEngines: false })
  const [worker] = simulator.workers
  const body = { model_name: 'berth-tiny', model_format: 'ggufv2', quantization: 'Q8_0', model_type: 'LLM' }
  const run = (id: string) =>
    simulator.models.set(`dep-${id}`, {
      uid: `dep-${id}`,
      body,
      status: 'READY',
      stage: 'loading',
      plan: {},
      createdTs: Math.floor(Date.now() / 1000),
      replicaError: '',
      worker: worker!.ip,
      gpus: [],
      engineUrl: null,
      isLost: false,
    })
  return {
    settings: { RUNTIME: 'xinference', XINFERENCE_URLS: simulator.url },
    orders: {
      run: async (ids) => ids.forEach(run),
      lose: (id) => simulator.crash(`dep-${id}`, 'Out of memory'),
      listRequests: () => simulator.calls,
    },
  }
}

const { settings, orders } =
  process.argv[2] === 'kubernetes' ? await openKubernetes() : await openXinference()
async function obey({ order, argument }: { order: keyof ClusterOrders; argument: never }): Promise<void> {
  process.send!((await orders[order](argument)) ?? null)
}

process.on('message', (message: Parameters<typeof obey>[0]) => void obey(message))
process.on('disconnect', () => process.exit())
process.send!(settings)
