import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { describeChatModel, openCluster } from '../xinference/real/cluster.ts'
import type { XinferenceCluster } from '../xinference/real/cluster.ts'
import { slowPace } from './components.ts'
import type { Backend, Component } from './components.ts'

/** How long a component stays down at most, besides its start of ten seconds */
const maxDownMs = 5_000

/** A real supervisor and a real worker of the Xinference in the virtual environment `TEST_XINFERENCE`. */
export async function openXinferenceBackend(cleanup: AsyncDisposableStack): Promise<Backend> {
  // Otherwise each launch installs the engine first.
  const cluster = await openCluster({ XINFERENCE_ENABLE_VIRTUAL_ENV: '0' })
  cleanup.defer(async () => {
    await cluster.close()
    await expectNoProcess(cluster.folder)
  })
  await cluster.startSupervisor()
  await cluster.startWorker()
  await cluster.register('LLM', describeChatModel(cluster.folder))
  /** Launches whose model has answered a request, as uid and time */
  const answered = new Set<string>()

  /** True if a listed model answers. After a launch that was cut off, a model refuses every request. */
  async function serves({ uid, isListed, launchedAt }: Model): Promise<boolean> {
    const launch = `${uid} ${launchedAt}`
    if (isListed && !answered.has(launch) && (await answers(cluster, uid))) answered.add(launch)
    return isListed && answered.has(launch)
  }

  /** When the worker started in milliseconds; Infinity while it is down */
  let workerSince = Date.now()

  const supervisor: Component = {
    name: 'Xinference supervisor',
    carriesEngines: true,
    async killAndRestart(random) {
      await cluster.killSupervisor()
      await delay(random() * maxDownMs)
      await cluster.startSupervisor()
      return 'the supervisor'
    },
  }
  const worker: Component = {
    name: 'Xinference worker',
    carriesEngines: true,
    async killAndRestart(random) {
      workerSince = Infinity
      await cluster.killWorker()
      await delay(random() * maxDownMs)
      const startsAt = Date.now()
      await cluster.startWorker()
      workerSince = startsAt
      return 'the worker with its models'
    },
  }

  return {
    settings: { RUNTIME: 'xinference', XINFERENCE_URLS: cluster.url },
    components: [supervisor, worker],
    pace: { ...slowPace, live: 2 },
    toleranceMs: 15_000,
    async observe() {
      if (workerSince === Infinity) return []
      const models = await readModels(cluster)
      // The supervisor does not know immediately that a worker died with its models.
      const held = models.filter(({ launchedAt }) => launchedAt >= workerSince - 1_000)
      return Promise.all(
        held.map(async (model) => ({
          engineId: toEngineId(model.uid),
          isServing: await serves(model),
        })),
      )
    },
    async listRemains() {
      return (await readModels(cluster)).map(({ uid }) => toEngineId(uid))
    },
  }
}

interface Model {
  uid: string
  isListed: boolean
  /** In milliseconds; 0 if unknown */
  launchedAt: number
}

/** The models that the supervisor lists or launches. Throws while the supervisor has no worker. */
async function readModels({ url }: XinferenceCluster): Promise<Model[]> {
  const [status, models, instances] = await Promise.all(
    ['/status', '/v1/models', '/v1/models/instances'].map(async (path) => {
      const answer = await fetch(`${url}${path}`, { signal: AbortSignal.timeout(10_000) })
      if (!answer.ok) throw new Error(`${path} answered ${answer.status}`)
      return (await answer.json()) as any
    }),
  )
  if (Object.keys(status.workers).length === 0) throw new Error('the supervisor has no worker')
  const listed = new Set<string>(models.data.map(({ id }: any) => id))
  const launches = new Map<string, number>()
  for (const { model_uid: uid, status: state, instance_created_ts: seconds } of instances) {
    if (listed.has(uid) || ['CREATING', 'UPDATING', 'TERMINATING'].includes(state))
      launches.set(uid, seconds * 1000)
  }
  return [...new Set([...listed, ...launches.keys()])].map((uid) => ({
    uid,
    isListed: listed.has(uid),
    launchedAt: launches.get(uid) ?? 0,
  }))
}

/** True if a model answers a request for one token. */
async function answers({ url }: XinferenceCluster, uid: string): Promise<boolean> {
  const body = { model: uid, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 1 }
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(10_000),
  })
  await answer.body?.cancel()
  return answer.ok
}

function toEngineId(uid: string): string {
  return uid.replace(/^dep-/, '')
}

/** Expects that every process of a cluster ended with it. They all have its folder as their home. */
async function expectNoProcess(folder: string): Promise<void> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const left: string[] = []
  for (const pid of pids) {
    const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')
    if (environment.includes(`XINFERENCE_HOME=${folder}`)) left.push(pid)
  }
  if (left.length > 0) throw new Error(`processes of Xinference are left: ${left.join(', ')}`)
}
