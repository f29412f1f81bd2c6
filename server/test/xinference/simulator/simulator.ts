import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { listen } from '../../support/listen.ts'
import {
  describeModel,
  describeProgress,
  hostWorker,
  listInstances,
  listModel,
  listReplicas,
  now,
  readClusterInfo,
  readStatus,
} from './responses.ts'
import type { SimulatedWorker } from './responses.ts'
import { isInferencePath, proxyInference, readBody } from './inference.ts'
import { downloadFile, knowsSpec, listEngines, openEngineProcesses } from './models.ts'
import type { LaunchPlan, SimulatedModel } from './models.ts'
import { respondToRegistration } from './registrations.ts'
import type { SimulatedRegistrations } from './registrations.ts'
import { createTokens } from './tokens.ts'
import type { SimulatedTokens } from './tokens.ts'

export interface SimulatorOptions {
  /** Version of Xinference, 2.12 or later; since 3.0 tokens can be refreshed. Default 4.1.0 */
  version?: string | undefined
  user?: { username: string; password: string } | null | undefined
  workers?: SimulatedWorker[] | undefined
  /** false: models are ready immediately and serve nothing */
  withEngines?: boolean | undefined
  /** Where it listens; default a free port of 127.0.0.1 */
  address?: { host: string; port: number } | undefined
}

export interface SimulatedResponse {
  status: number
  body?: unknown
  headers?: Record<string, string>
}
export type Intercept = (request: {
  method: string
  path: string
}) => SimulatedResponse | 'hang' | Promise<SimulatedResponse> | undefined

export interface XinferenceSimulator {
  url: string
  tokens: SimulatedTokens
  models: Map<string, SimulatedModel>
  registered: SimulatedRegistrations
  workers: SimulatedWorker[]
  /** All requests in order, such as `POST /v1/models` */
  calls: string[]
  /** Applies to all further launches */
  plan: LaunchPlan
  /** Unavailable engines with the reason */
  brokenEngines: Record<string, string>
  /** Answers instead of the supervisor while it is set */
  intercept: Intercept | null
  /** GPUs, as `ip/index`, whose memory a process outside Xinference uses */
  occupied: Set<string>
  /** Seconds since the start of the supervisor */
  uptime: number
  /** Completes a launch that stopped at `heldAt` */
  proceed(uid: string): void
  /** Fails a READY model */
  crash(uid: string, reason: string): void
  /** Removes a worker: the supervisor forgets its models but keeps their instances */
  loseWorker(ip: string): void
  /** Restarts the supervisor: models, events and tokens are lost */
  restart(): Promise<void>
  /** Closes the port; models keep running */
  stopListening(): Promise<void>
  startListening(): Promise<void>
  close(): Promise<void>
}

const unknownModel = (uid: string): SimulatedResponse => ({
  status: 400,
  body: { detail: `[address=127.0.0.1:41000, pid=7] Model not found in the model list, uid: ${uid}` },
})
const ok = (body: unknown): SimulatedResponse => ({ status: 200, body })
const refuse = (status: number, detail: string): SimulatedResponse => ({ status, body: { detail } })

/**
 * Starts a supervisor with workers that behaves like a version of Xinference, including its defects. Its
 * models share one of Berth's engines for each file.
 */
export async function startXinferenceSimulator(options: SimulatorOptions = {}): Promise<XinferenceSimulator> {
  const { version = '4.1.0', user = null, withEngines = true, address } = options
  const host = address?.host ?? '127.0.0.1'
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number)
  const isAtLeast = (a: number, b: number, c = 0) =>
    major * 1e6 + minor * 1e3 + patch >= a * 1e6 + b * 1e3 + c
  const tokens = createTokens(user, isAtLeast(3, 0))
  const engines = withEngines ? await openEngineProcesses() : null
  const models = new Map<string, SimulatedModel>()
  const events = new Map<string, { event_type: string; event_ts: number; event_content: string }[]>()
  let server: Server
  let port = address?.port ?? 0
  let cachedList: { at: number; body: unknown } | null = null

  const isServed = ({ status, isLost }: SimulatedModel) => status === 'READY' && !isLost

  function recordEvent(uid: string, type: string, content: string): void {
    const list = events.get(uid) ?? []
    events.set(uid, [...list, { event_type: type, event_ts: now(), event_content: content }].slice(-100))
  }

  async function startModel(model: SimulatedModel): Promise<void> {
    const stillLaunching = () => models.get(model.uid) === model && model.status === 'CREATING'
    try {
      if (!simulator.registered.has(model.body.model_name) && !knowsSpec(model.body)) {
        const { model_name, model_format, model_size_in_billions, quantization } = model.body
        throw new Error(
          `Model not found, name: ${model_name}, format: ${model_format}, size: ${model_size_in_billions}, quantization: ${quantization}`,
        )
      }
      if (model.plan.failure !== undefined) throw new Error(model.plan.failure)
      model.stage = 'loading'
      const file = await downloadFile(model.body)
      const url = engines === null ? null : await engines.open(model, file)
      if (!stillLaunching()) return
      Object.assign(model, { status: 'READY', engineUrl: url })
      recordEvent(model.uid, 'INFO', 'Model is ready')
    } catch (error) {
      if (!stillLaunching()) return
      fail(model, error instanceof Error ? error.message : String(error))
      if (!isAtLeast(3, 0)) model.outdatedStatus = 'CREATING'
    }
  }

  function fail(model: SimulatedModel, reason: string): void {
    Object.assign(model, { status: 'ERROR', engineUrl: null, gpus: [] })
    model.replicaError = `[address=${model.worker}:41001, pid=9] ${reason}`
    recordEvent(model.uid, 'ERROR', model.replicaError)
  }

  function launch(body: Record<string, any>): SimulatedResponse {
    const { model_name, model_engine, model_type = 'LLM', n_gpu = 'auto', worker_ip, replica = 1 } = body
    if (!model_name) return refuse(400, 'Invalid input. Please specify the `model_name` field.')
    if (!model_engine && model_type === 'LLM')
      return refuse(400, 'Invalid input. Please specify the `model_engine` field.')
    const uid = String(body['model_uid'] ?? model_name)
    if (uid.length > 100 || /-rep\d+$/.test(uid)) return refuse(400, `The model UID is invalid: ${uid}`)
    if (!Number.isInteger(replica) || replica < 1)
      return refuse(400, 'Invalid input. replica must be an integer')
    const existing = models.get(uid)
    if (existing !== undefined && (isServed(existing) || existing.status === 'CREATING'))
      return refuse(400, `[address=127.0.0.1:41000, pid=7] Model is already in the model list, uid: ${uid}`)
    const reason = simulator.brokenEngines[model_engine]
    if (reason) return refuse(400, `Model ${model_name} cannot be run on engine ${model_engine}, ${reason}`)
    if (simulator.workers.length === 0) return refuse(503, 'No available worker found')
    const worker = simulator.workers.find(({ ip }) => worker_ip === undefined || ip === worker_ip)
    if (worker === undefined) return refuse(400, `Worker ip address ${worker_ip} is not in the cluster.`)
    const count = n_gpu === 'auto' ? Math.min(1, worker.gpus.length) : (n_gpu ?? 0)
    if (count > worker.gpus.length)
      return refuse(
        400,
        'The parameter `n_gpu` must be greater than 0 and not greater than the number of GPUs',
      )
    const used = new Set(
      [...models.values()].filter((each) => each.worker === worker.ip).flatMap((each) => each.gpus),
    )
    const free = worker.gpus.map((_, index) => index).filter((index) => !used.has(index))
    const model: SimulatedModel = {
      uid,
      body,
      status: 'CREATING',
      stage: simulator.plan.heldAt ?? 'pending',
      plan: simulator.plan,
      createdTs: now(),
      replicaError: '',
      worker: worker.ip,
      engineUrl: null,
      isLost: false,
      gpus: [...free, ...used].slice(0, count),
    }
    models.set(uid, model)
    recordEvent(uid, 'INFO', 'Launch model')
    if (model.plan.heldAt === undefined) void startModel(model)
    return ok({ model_uid: uid })
  }

  function terminate(uid: string): SimulatedResponse {
    const model = models.get(uid)
    if (model === undefined || !isServed(model)) return unknownModel(uid)
    Object.assign(model, { status: 'TERMINATED', gpus: [] })
    recordEvent(uid, 'INFO', 'Terminate model')
    return ok(null)
  }

  function respondForModel(method: string, uid: string, rest: string): SimulatedResponse {
    const model = models.get(uid)
    switch (`${method} ${rest}`) {
      case 'GET ':
        if (model !== undefined && isServed(model)) return ok(describeModel(model))
        if (model?.status === 'CREATING')
          return {
            ...refuse(503, `Model is loading, please retry later: ${uid}`),
            headers: { 'retry-after': '30' },
          }
        return unknownModel(uid)
      case 'DELETE ':
        return terminate(uid)
      case 'GET /progress':
        return ok(describeProgress(model, isAtLeast(3, 2, 1)))
      case 'GET /events':
        return ok(events.get(uid) ?? [])
      case 'POST /cancel':
        if (model?.status !== 'CREATING') return refuse(500, `Model ${uid} has not been launched yet`)
        fail(model, 'Launch cancelled')
        return ok(null)
      case 'GET /replicas':
        return ok(listReplicas(model))
      default:
        return refuse(404, 'Not Found')
    }
  }

  function respond(method: string, url: URL, body: Record<string, any> | null): SimulatedResponse {
    const path = url.pathname
    const [, engineType = '', engineName = ''] = /^\/v1\/engines\/([^/]+)\/([^/]+)$/.exec(path) ?? []
    if (engineName !== '') {
      const listed = listEngines(engineType, decodeURIComponent(engineName), simulator.brokenEngines)
      return ok(listed)
    }
    const registration = path.startsWith('/v1/model_registrations/')
      ? respondToRegistration(simulator.registered, method, path, body)
      : null
    if (registration !== null) return registration
    switch (`${method} ${path}`) {
      case 'POST /v1/models':
        return launch(body ?? {})
      case 'GET /v1/models': {
        if (cachedList === null || Date.now() - cachedList.at > 3000) {
          const data = [...models.values()].filter(isServed).map(listModel)
          cachedList = { at: Date.now(), body: { object: 'list', data } }
        }
        return ok(cachedList.body)
      }
      case 'GET /v1/models/instances':
        return ok(listInstances(models.values(), url.searchParams.get('model_uid')))
      case 'GET /v1/cluster/version':
        return ok({ version, 'full-revisionid': 'a'.repeat(40) })
      case 'GET /v1/cluster/info':
        return ok(readClusterInfo(simulator, url.searchParams.get('detailed') === 'true'))
      case 'GET /status':
        return ok(readStatus(simulator))
      case 'GET /v1/cluster/auth':
        return ok({ auth: user !== null })
      case 'POST /token':
        return user === null ? refuse(404, 'Not Found') : tokens.signIn(body)
      case 'POST /v1/auth/refresh':
        return isAtLeast(3, 0) ? tokens.refresh(body) : refuse(404, 'Not Found')
    }
    const [, uid = '', rest = ''] = /^\/v1\/models\/([^/]+)(\/[a-z]+)?$/.exec(path) ?? []
    return uid === '' ? refuse(404, 'Not Found') : respondForModel(method, decodeURIComponent(uid), rest)
  }

  const publicPaths = new Set(['/status', '/v1/cluster/auth', '/token', '/v1/auth/refresh'])

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const method = request.method ?? ''
    const url = new URL(request.url ?? '', 'http://localhost')
    const body = await readBody(request)
    simulator.calls.push(`${method} ${url.pathname}`)
    const intercepted = await simulator.intercept?.({ method, path: url.pathname })
    if (intercepted === 'hang') return
    if (intercepted !== undefined) return send(response, intercepted)
    if (!publicPaths.has(url.pathname) && !tokens.accepts(request.headers.authorization))
      return send(response, refuse(401, 'Could not validate credentials'))
    if (!isInferencePath(url.pathname)) return send(response, respond(method, url, body))
    const model = models.get(String(body?.['model']))
    if (model?.status === 'CREATING')
      return send(response, { ...refuse(503, 'Model is loading'), headers: { 'retry-after': '30' } })
    if (model === undefined || engines === null || !isServed(model))
      return send(response, {
        ...unknownModel(String(body?.['model'])),
        status: 404,
      })
    return proxyInference(model, engines.key, url.pathname, body ?? {}, response)
  }

  function send(response: ServerResponse, { status, body, headers }: SimulatedResponse): void {
    const type = typeof body === 'string' ? 'text/plain' : 'application/json'
    response.writeHead(status, { 'content-type': type, ...headers })
    response.end(typeof body === 'string' ? body : JSON.stringify(body ?? null))
  }

  async function startListening(): Promise<void> {
    server = createServer((request, response) => {
      handle(request, response).catch(() => response.destroy())
    })
    port = await listen(server, port, host)
  }

  async function stopListening(): Promise<void> {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }

  const simulator: XinferenceSimulator = {
    url: '',
    tokens,
    models,
    registered: new Map(),
    workers: options.workers ?? [hostWorker],
    calls: [],
    plan: {},
    brokenEngines: {},
    intercept: null,
    occupied: new Set(),
    uptime: 60,
    proceed(uid) {
      const model = models.get(uid)
      if (model !== undefined) void startModel(model)
    },
    crash(uid, reason) {
      const model = models.get(uid)
      if (model !== undefined) fail(model, reason)
    },
    loseWorker(ip) {
      simulator.workers = simulator.workers.filter((worker) => worker.ip !== ip)
      for (const model of models.values()) {
        if (model.worker !== ip) continue
        Object.assign(model, { isLost: true, engineUrl: null, gpus: [] })
      }
    },
    async restart() {
      models.clear()
      events.clear()
      tokens.reset()
      cachedList = null
    },
    stopListening,
    startListening,
    async close() {
      models.clear()
      await stopListening().catch(() => {})
      await engines?.close()
    },
  }
  await startListening()
  simulator.url = `http://${host}:${port}`
  return simulator
}
