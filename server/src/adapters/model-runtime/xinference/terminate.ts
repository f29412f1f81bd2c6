import { setTimeout as sleep } from 'node:timers/promises'
import { SupervisorError } from './errors.ts'
import type { ModelInstance, Supervisor } from './supervisor.ts'

/** Terminates models. Tracks cancellations in flight, because Xinference takes up to a minute for one. */
export interface Terminator {
  /** Returns true once Xinference no longer knows the model, in any state. Throws SupervisorError. */
  terminate(supervisor: Supervisor, uid: string): Promise<boolean>
}

const cancelTimeoutMs = 65_000
const cancelWaitMs = 2_000
const launchingStatuses = new Set(['CREATING', 'UPDATING'])

export function createTerminator(): Terminator {
  const cancelling = new Map<string, Promise<void>>()
  /** Models that a supervisor knew and terminated. Their absence is certain. */
  const terminated = new Set<string>()

  const toKey = (supervisor: Supervisor, uid: string) => `${supervisor.origin} ${uid}`

  /** Starts a cancellation, or joins the one in flight, and waits for it briefly. */
  async function cancel(supervisor: Supervisor, uid: string): Promise<void> {
    const key = toKey(supervisor, uid)
    const path = `/v1/models/${encodeURIComponent(uid)}/cancel`
    const cancellation =
      cancelling.get(key) ?? requestCancel(supervisor, path).finally(() => cancelling.delete(key))
    cancelling.set(key, cancellation)
    const waiting = new AbortController()
    await Promise.race([
      cancellation,
      sleep(cancelWaitMs, undefined, { signal: waiting.signal, ref: false }).catch(() => {}),
    ])
    waiting.abort()
  }

  return {
    async terminate(supervisor, uid) {
      const path = `/v1/models/${encodeURIComponent(uid)}`
      const response = await supervisor.request({ method: 'DELETE', path })
      // 400 means that the model is unknown or still launching, which the status below distinguishes.
      if (response.status >= 500) {
        throw new SupervisorError(`${supervisor.clusterId} could not terminate the model: ${response.detail}`)
      }
      if (response.status === 403)
        throw new SupervisorError(`${supervisor.clusterId} does not permit Berth's user to terminate models`)
      const key = toKey(supervisor, uid)
      if (response.status === 200) terminated.add(key)
      const instance = await supervisor.findInstance(uid)
      const status = instance?.status ?? null
      if (isLaunching(instance)) {
        await cancel(supervisor, uid)
        return false
      }
      // The instance of a model whose worker died stays READY forever.
      if (status !== null && status !== 'ERROR' && status !== 'READY') return false
      const { state } = await supervisor.describe(uid)
      if (state !== 'unknown') return false
      if (!terminated.has(key)) await supervisor.expectSettled()
      terminated.delete(key)
      return true
    },
  }
}

export function isLaunching(instance: ModelInstance | null): boolean {
  return instance !== null && launchingStatuses.has(instance.status)
}

/** The next status check shows the result. A 500 means that the model is not launching. */
async function requestCancel(supervisor: Supervisor, path: string): Promise<void> {
  try {
    await supervisor.request({ method: 'POST', path, timeoutMs: cancelTimeoutMs })
  } catch (error) {
    if (!(error instanceof SupervisorError)) throw error
  }
}
