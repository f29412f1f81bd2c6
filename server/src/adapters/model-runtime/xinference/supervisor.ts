import type { Agent } from 'undici'
import type { z } from 'zod'
import type { ModelType } from '../../../ports/model-variant.ts'
import * as schemas from './response-schemas.ts'
import { SupervisorError } from './errors.ts'
import { sendRequest } from './http.ts'
import { nameAddress } from './names.ts'
import type { SupervisorResponse, SupervisorRequest } from './http.ts'
import { createSignIn } from './sign-in.ts'
import type { SupervisorAddress, XinferenceSettings } from './settings.ts'

/** The instance of a model, with a status such as CREATING, READY or ERROR. */
export interface ModelInstance {
  uid: string
  modelName: string | null
  status: string
  launchedAt: Date | null
}

/** A client for one supervisor. Methods throw SupervisorError if the response is missing or unusable. */
export interface Supervisor {
  /** URL such as `http://10.0.0.5:9997`; callers never see it */
  origin: string
  /** The name of the cluster, also in messages */
  clusterId: string
  /** True if it was opened for this address, with the same sign-in */
  isAt(address: SupervisorAddress): boolean
  authorize(refused?: string | null): Promise<string | null>
  /** Throws if Berth does not support the supervisor's version. Cached after the first success. */
  checkVersion(): Promise<void>
  /** Sends a request with Berth's sign-in, which is renewed once after a 401 */
  request(
    request: Pick<SupervisorRequest, 'method' | 'path' | 'body'> & { timeoutMs?: number | undefined },
  ): Promise<SupervisorResponse>
  /** Sends a GET request; throws for any status other than 200 */
  get<Schema extends z.ZodType>(path: string, schema: Schema): Promise<z.output<Schema>>
  /** The state of one model; `unknown` if it is neither served nor loading */
  describe(
    uid: string,
  ): Promise<{ state: 'served'; modelName: string | null } | { state: 'loading' | 'unknown' }>
  /** A model's instance; null if it has none */
  findInstance(uid: string): Promise<ModelInstance | null>
  /** The instances of all models, without terminated ones */
  listInstances(): Promise<ModelInstance[]>
  /** Throws if the supervisor has just started, so that it may not know all models of its workers yet. */
  expectSettled(): Promise<void>
  /** Empty for versions without events */
  listEvents(uid: string): Promise<schemas.ModelEvent[]>
  /** The models that the cluster can launch; empty without workers */
  listRegistrations(type: ModelType): Promise<schemas.Registrations>
  listReplicas(uid: string): Promise<z.output<typeof schemas.replicas>>
}

/** Workers report their models to a restarted supervisor every five seconds. */
const settleSeconds = 20

/** The oldest version that `npm run test:xinference` runs. */
const oldestVersion = [2, 12] as const

/** Opens no connection itself. */
export function openSupervisor(
  { origin, credentials }: SupervisorAddress,
  agent: Agent,
  settings: XinferenceSettings,
): Supervisor {
  const clusterId = nameAddress('xinference', origin)
  const timeout = settings.responseTimeoutMs ?? 15_000
  const signIn = createSignIn(clusterId, credentials, timeout, (plain) =>
    sendRequest(agent, { origin, clusterId }, plain),
  )

  async function request({
    timeoutMs = timeout,
    ...rest
  }: Parameters<Supervisor['request']>[0]): Promise<SupervisorResponse> {
    const authorization = await signIn.authorize()
    const response = await sendRequest(agent, { origin, clusterId }, { ...rest, authorization, timeoutMs })
    if (response.status !== 401) return checkRateLimit(response)
    const renewed = await signIn.authorize(authorization)
    const again = await sendRequest(
      agent,
      { origin, clusterId },
      { ...rest, authorization: renewed, timeoutMs },
    )
    if (again.status === 401)
      throw new SupervisorError(`${clusterId} rejected a token that it had just issued`)
    return checkRateLimit(again)
  }

  function checkRateLimit(response: SupervisorResponse): SupervisorResponse {
    if (response.status === 429) throw new SupervisorError(`${clusterId} limits the request rate`)
    return response
  }

  async function get<Schema extends z.ZodType>(path: string, schema: Schema): Promise<z.output<Schema>> {
    const response = await request({ method: 'GET', path })
    return parseResponse(path, response, schema)
  }

  function parseResponse<Schema extends z.ZodType>(
    path: string,
    response: SupervisorResponse,
    schema: Schema,
  ): z.output<Schema> {
    if (response.status !== 200) {
      throw new SupervisorError(
        `${clusterId} answered ${response.status} to ${path.split('?')[0]}: ${response.detail}`,
      )
    }
    const parsed = schema.safeParse(response.body)
    if (parsed.success) return parsed.data
    throw new SupervisorError(`${clusterId} sent an unexpected response to ${path.split('?')[0]}`, {
      cause: parsed.error,
    })
  }

  /** Reads a list; empty if the supervisor does not know the model or the route. */
  async function list<Item extends z.ZodType>(
    path: string,
    schema: z.ZodArray<Item>,
  ): Promise<z.output<Item>[]> {
    const response = await request({ method: 'GET', path })
    return response.status === 400 || response.status === 404 ? [] : parseResponse(path, response, schema)
  }

  async function readInstances(path: string): Promise<ModelInstance[]> {
    const instances = await get(path, schemas.instances)
    return instances
      .filter(({ status }) => status !== 'TERMINATED')
      .map(({ model_uid: uid, model_name: modelName = null, status, instance_created_ts: seconds }) => {
        return { uid, modelName, status, launchedAt: seconds == null ? null : new Date(seconds * 1000) }
      })
  }

  let knownVersion: string | null = null

  return {
    origin,
    clusterId,
    isAt: (other) => other.origin === origin && other.credentials?.password === credentials?.password,
    authorize: (refused) => signIn.authorize(refused),

    async checkVersion() {
      if (knownVersion !== null) return
      const { version } = await get('/v1/cluster/version', schemas.version)
      const [major, minor] = version.split('.').map(Number)
      // A build from a checkout has no version number and counts as new.
      const isOld =
        major !== undefined &&
        minor !== undefined &&
        (major < oldestVersion[0] || (major === oldestVersion[0] && minor < oldestVersion[1]))
      if (isOld) {
        throw new SupervisorError(
          `${clusterId} runs Xinference ${version}, but Berth requires ${oldestVersion.join('.')} or later`,
        )
      }
      knownVersion = version
      settings.logger.info(
        { supervisor: origin, cluster: clusterId, version },
        'connected to a Xinference cluster',
      )
    },

    request,
    get,

    async describe(uid) {
      const path = `/v1/models/${encodeURIComponent(uid)}`
      const response = await request({ method: 'GET', path })
      // 400 for an unknown model, and in part 404.
      if (response.status === 400 || response.status === 404) return { state: 'unknown' }
      if (response.status === 503) return { state: 'loading' }
      return { state: 'served', modelName: parseResponse(path, response, schemas.model).model_name ?? null }
    },

    async findInstance(uid) {
      const instances = await readInstances(`/v1/models/instances?model_uid=${encodeURIComponent(uid)}`)
      return instances.find((instance) => instance.uid === uid) ?? null
    },

    listInstances: () => readInstances('/v1/models/instances'),

    async expectSettled() {
      const { uptime } = await get('/status', schemas.status)
      if (uptime == null || uptime >= settleSeconds) return
      throw new SupervisorError(
        `${clusterId} has just started, and its workers have not reported their models yet`,
      )
    },

    listEvents: (uid) => list(`/v1/models/${encodeURIComponent(uid)}/events`, schemas.events),
    listRegistrations: (type) => list(`/v1/model_registrations/${type}?detailed=true`, schemas.registrations),
    listReplicas: (uid) => list(`/v1/models/${encodeURIComponent(uid)}/replicas`, schemas.replicas),
  }
}
