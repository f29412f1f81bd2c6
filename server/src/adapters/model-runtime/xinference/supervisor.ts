import type { Agent } from 'undici'
import type { z } from 'zod'
import * as answers from './answers.ts'
import { SupervisorFault } from './faults.ts'
import { askSupervisor } from './http.ts'
import type { Answer, Ask } from './http.ts'
import { createSession } from './session.ts'
import type { XinferenceSettings } from './settings.ts'

/** One supervisor, asked in its own words. Everything throws a SupervisorFault for an answer that can't be used. */
export interface Supervisor {
  /** Its address, the clusters' id too: `http://10.0.0.5:9997` */
  origin: string
  /** Its address in sentences: `10.0.0.5:9997` */
  host: string
  authorize(refused?: string | null): Promise<string | null>
  /** Throws for a version that Berth can't work with; asks once */
  requireVersion(): Promise<void>
  /** Sends with Berth's sign-in, renewing it once when it is refused */
  ask(ask: Pick<Ask, 'method' | 'path' | 'body'> & { timeoutMs?: number | undefined }): Promise<Answer>
  /** Reads what is there; a status other than 200 is a fault */
  read<Schema extends z.ZodType>(path: string, schema: Schema): Promise<z.output<Schema>>
  /** What it says of one model; `unknown` as soon as it is neither served nor loaded */
  describe(
    uid: string,
  ): Promise<{ state: 'served'; modelName: string | null } | { state: 'loading' | 'unknown' }>
  /** The status of a model's instance such as CREATING, READY or ERROR; null when there is none */
  findStatus(uid: string): Promise<string | null>
  /** Empty for a version that tells none */
  listEvents(uid: string): Promise<answers.ModelEvent[]>
  listReplicas(uid: string): Promise<z.output<typeof answers.replicas>>
}

/** The first version that tells how far a launch is. */
const oldestVersion = [1, 5] as const

/** Opens no connection by itself. */
export function openSupervisor(origin: string, agent: Agent, settings: XinferenceSettings): Supervisor {
  const { host } = new URL(origin)
  const timeout = settings.answerTimeoutMs ?? 15_000
  const session = createSession(host, settings.credentials, timeout, (ask) =>
    askSupervisor(agent, origin, ask),
  )

  async function ask({ timeoutMs = timeout, ...asked }: Parameters<Supervisor['ask']>[0]): Promise<Answer> {
    const authorization = await session.authorize()
    const answer = await askSupervisor(agent, origin, { ...asked, authorization, timeoutMs })
    if (answer.status !== 401) return requireWillingness(answer)
    const renewed = await session.authorize(authorization)
    const again = await askSupervisor(agent, origin, { ...asked, authorization: renewed, timeoutMs })
    if (again.status === 401) throw new SupervisorFault(`${host} does not accept its own sign-in`)
    return requireWillingness(again)
  }

  function requireWillingness(answer: Answer): Answer {
    if (answer.status === 429) throw new SupervisorFault(`${host} wants fewer requests`)
    return answer
  }

  async function read<Schema extends z.ZodType>(path: string, schema: Schema): Promise<z.output<Schema>> {
    const answer = await ask({ method: 'GET', path })
    return use(path, answer, schema)
  }

  function use<Schema extends z.ZodType>(path: string, answer: Answer, schema: Schema): z.output<Schema> {
    if (answer.status !== 200) {
      throw new SupervisorFault(
        `${host} answered ${answer.status} to ${path.split('?')[0]}: ${answer.detail}`,
      )
    }
    const parsed = schema.safeParse(answer.body)
    if (parsed.success) return parsed.data
    throw new SupervisorFault(`${host} answered something else than expected to ${path.split('?')[0]}`, {
      cause: parsed.error,
    })
  }

  /** Reads a list that is empty where the model, or the route, is unknown. */
  async function list<Item extends z.ZodType>(
    path: string,
    schema: z.ZodArray<Item>,
  ): Promise<z.output<Item>[]> {
    const answer = await ask({ method: 'GET', path })
    return answer.status === 400 || answer.status === 404 ? [] : use(path, answer, schema)
  }

  let knownVersion: string | null = null

  return {
    origin,
    host,
    authorize: (refused) => session.authorize(refused),

    async requireVersion() {
      if (knownVersion !== null) return
      const { version } = await read('/v1/cluster/version', answers.version)
      const [major, minor] = version.split('.').map(Number)
      // A version built from a checkout has no number, and is taken for a new one.
      const isOld =
        major !== undefined &&
        minor !== undefined &&
        (major < oldestVersion[0] || (major === oldestVersion[0] && minor < oldestVersion[1]))
      if (isOld) {
        throw new SupervisorFault(
          `${host} runs Xinference ${version}, and Berth needs ${oldestVersion.join('.')} or later`,
        )
      }
      knownVersion = version
      settings.logger.info({ supervisor: origin, version }, 'found a Xinference cluster')
    },

    ask,
    read,

    async describe(uid) {
      const path = `/v1/models/${encodeURIComponent(uid)}`
      const answer = await ask({ method: 'GET', path })
      // Versions before 2.12 say 400 for an unknown model, later ones 404 in places.
      if (answer.status === 400 || answer.status === 404) return { state: 'unknown' }
      if (answer.status === 503) return { state: 'loading' }
      return { state: 'served', modelName: use(path, answer, answers.model).model_name ?? null }
    },

    async findStatus(uid) {
      const path = `/v1/models/instances?model_uid=${encodeURIComponent(uid)}`
      const found = (await read(path, answers.instances)).find((instance) => instance.model_uid === uid)
      return found === undefined || found.status === 'TERMINATED' ? null : found.status
    },

    listEvents: (uid) => list(`/v1/models/${encodeURIComponent(uid)}/events`, answers.events),
    listReplicas: (uid) => list(`/v1/models/${encodeURIComponent(uid)}/replicas`, answers.replicas),
  }
}
