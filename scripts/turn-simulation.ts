import type { Viewer } from '../server/src/base/viewer.ts'
import { createCircuitBreakers } from '../server/src/gateway/circuit-breakers.ts'
import { Admission } from '../server/src/features/inference/waiting/admission.ts'
import type { AdmissionRequest } from '../server/src/features/inference/waiting/admission.ts'
import type { EngineTarget } from '../server/src/features/inference/targets/targets.ts'

/** A member of a simulated organization. Times are in milliseconds on the simulation's clock. */
export interface SimulatedMember {
  /**
   * Requests that the member keeps open at the same time; each answer is followed by the next request after
   * `pause`
   */
  parallel: number
  pause: number
  /** The requests in all */
  requests: number
  promptTokens: number
  outputTokens: number
}

/** One request, with how many of each other member's requests were sent to the engine while it waited. */
export interface SimulatedRequest {
  userId: number
  waited: number
  overtakenBy: ReadonlyMap<number, number>
  tokens: number
}

export type TurnPolicy = 'turns' | 'first come, first served'

/**
 * Time of a token of a prompt and of an answer, in milliseconds: about a model with 8 billion parameters on
 * one GPU
 */
const promptMilliseconds = 0.2
const outputMilliseconds = 20

interface Waiting extends AdmissionRequest {
  since: number
  overtakenBy: Map<number, number>
}

const target: EngineTarget = {
  deploymentId: 'shared',
  instanceId: 'only',
  ownerId: 0,
  sharedWith: 'organization',
  organizationId: 1,
  modelName: 'model',
  baseModelName: 'model',
  adapterId: null,
  alias: null,
  modelType: 'LLM',
  format: 'pytorch',
  counts: { inEvents: 'usage', afterAbort: 'none' },
  engineTitle: 'The engine',
  routes: new Set(),
  ignoredFields: new Set(),
  cacheSalt: null,
  lora: null,
  engineAdapters: [],
  modelUid: 'dep-shared',
  servedModelName: 'shared',
  status: 'running',
  failureReason: null,
  isWaking: false,
  createdAt: new Date(0),
  engineUrl: 'http://127.0.0.1:1',
  contextTokens: 8192,
  parallelSequences: null,
  origin: 'http://127.0.0.1:1',
  basePath: '',
  authorization: null,
}

const manyRequests = 1_000_000
const limits = { perUser: manyRequests, perDeployment: manyRequests, queued: manyRequests }
const patience = { queueMilliseconds: 2 ** 31 - 1, turnMilliseconds: 2 ** 31 - 1 }

/**
 * Simulates the requests of members to an engine with this number of sequences, and the clock. Members are
 * numbered from 0. `turns` is Berth's admission itself. Ends when all requests are answered, or after `until`
 * milliseconds.
 */
export async function simulateTurns(
  policy: TurnPolicy,
  sequences: number,
  members: readonly SimulatedMember[],
  until = Infinity,
): Promise<SimulatedRequest[]> {
  const events: { at: number; run: () => void }[] = []
  const later = (at: number, run: () => void) => {
    const index = events.findIndex((event) => event.at > at)
    events.splice(index === -1 ? events.length : index, 0, { at, run })
  }
  let now = 0
  const sent: SimulatedRequest[] = []
  const waiting = new Set<Waiting>()
  const admission =
    policy === 'turns'
      ? new Admission({ ...limits, ...patience }, createCircuitBreakers())
      : serveInOrder(sequences)

  function send(userId: number, left: { requests: number }): void {
    if (left.requests === 0) return
    left.requests -= 1
    const { promptTokens, outputTokens, pause } = members[userId]!
    let startedAt = Infinity
    const request: Waiting = {
      userId,
      viewer: null as unknown as Viewer,
      model: '',
      targets: [{ ...target, parallelSequences: sequences }],
      refusedBy: new Set(),
      promptTokens,
      hashPrefix: () => null,
      generatedTokens: () =>
        Math.min(outputTokens, Math.max(0, Math.floor((now - startedAt) / outputMilliseconds))),
      since: now,
      overtakenBy: new Map(),
      admit() {
        startedAt = now + promptTokens * promptMilliseconds
        waiting.delete(request)
        for (const { overtakenBy } of waiting) overtakenBy.set(userId, (overtakenBy.get(userId) ?? 0) + 1)
        sent.push({
          userId,
          waited: now - request.since,
          overtakenBy: request.overtakenBy,
          tokens: promptTokens + outputTokens,
        })
        later(startedAt + outputTokens * outputMilliseconds, () => {
          admission.release(request, target)
          later(now + pause, () => send(userId, left))
        })
      },
      reject(error) {
        throw error
      },
    }
    waiting.add(request)
    admission.request(request)
  }

  for (const [userId, { parallel, requests }] of members.entries()) {
    const left = { requests }
    for (let count = 0; count < parallel; count += 1) later(userId, () => send(userId, left))
  }
  for (let event = events.shift(); event !== undefined && event.at <= until; event = events.shift()) {
    now = event.at
    event.run()
    // Turns are decided when the ended request has reported its tokens.
    await Promise.resolve()
  }
  admission.close()
  return sent
}

/** A queue without turns. */
function serveInOrder(places: number) {
  const queue: AdmissionRequest[] = []
  let inFlight = 0
  const next = (): void => {
    while (inFlight < places && queue.length > 0) {
      inFlight += 1
      queue.shift()!.admit(target)
    }
  }
  return {
    request(request: AdmissionRequest): void {
      queue.push(request)
      next()
    },
    release(): void {
      inFlight -= 1
      next()
    },
    close(): void {},
  }
}
