import { startXinferenceSimulator } from '../xinference/simulator/simulator.ts'
import type { XinferenceSimulator } from '../xinference/simulator/simulator.ts'
import type { Backend } from './components.ts'
import { defaultPace } from './load.ts'

/** A simulated Xinference that never loses an engine. Only Berth's own processes are killed. */
export async function openSimulatorBackend(cleanup: AsyncDisposableStack): Promise<Backend> {
  const simulator = await startXinferenceSimulator()
  cleanup.defer(() => simulator.close())
  return toBackend(simulator)
}

/** What the chaos tests need of a simulated Xinference. */
export function toBackend(simulator: XinferenceSimulator): Backend {
  const launches: string[] = []
  const set = simulator.models.set.bind(simulator.models)
  simulator.models.set = (uid, model) => {
    launches.push(toEngineId(uid))
    return set(uid, model)
  }

  async function observe() {
    const held = [...simulator.models.values()].filter(({ status }) => ['CREATING', 'READY'].includes(status))
    return held.map(({ uid, status }) => ({
      engineId: toEngineId(uid),
      isServing: status === 'READY',
    }))
  }

  return {
    // Two deployments of each tenant fit on the cluster, so each is launched once.
    settings: { RUNTIME: 'xinference', XINFERENCE_URLS: simulator.url, BILLING_TRIAL_MAX_ACTIVE: '2' },
    components: [],
    pace: defaultPace,
    toleranceMs: 15_000,
    launches,
    observe,
    listRemains: async () => (await observe()).map(({ engineId }) => engineId),
  }
}

function toEngineId(uid: string): string {
  return uid.replace(/^dep-/, '')
}
