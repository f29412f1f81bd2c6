import { setTimeout as sleep } from 'node:timers/promises'
import { SupervisorFault } from './faults.ts'
import type { Supervisor } from './supervisor.ts'

/** Ends models, remembering which cancellations are under way: Xinference takes up to a minute for one. */
export interface Terminator {
  /** Ends a model, whatever it is doing; true once it is confirmed gone. Throws a SupervisorFault. */
  terminate(supervisor: Supervisor, uid: string): Promise<boolean>
}

const cancelTimeoutMs = 65_000
const cancelPatienceMs = 2_000
const underWay = new Set(['CREATING', 'UPDATING'])

export function createTerminator(): Terminator {
  const cancelling = new Map<string, Promise<void>>()

  /** Begins a cancellation, or joins the one under way, and waits for it a little. */
  async function cancel(supervisor: Supervisor, uid: string): Promise<void> {
    const key = `${supervisor.origin} ${uid}`
    const path = `/v1/models/${encodeURIComponent(uid)}/cancel`
    const cancellation =
      cancelling.get(key) ?? askToCancel(supervisor, path).finally(() => cancelling.delete(key))
    cancelling.set(key, cancellation)
    const waiting = new AbortController()
    await Promise.race([
      cancellation,
      sleep(cancelPatienceMs, undefined, { signal: waiting.signal, ref: false }).catch(() => {}),
    ])
    waiting.abort()
  }

  return {
    async terminate(supervisor, uid) {
      const path = `/v1/models/${encodeURIComponent(uid)}`
      const answer = await supervisor.ask({ method: 'DELETE', path })
      // 400 is a model that is unknown, or that is being launched; both are told apart below.
      if (answer.status >= 500) {
        throw new SupervisorFault(`${supervisor.host} could not end the model: ${answer.detail}`)
      }
      if (answer.status === 403) throw new SupervisorFault(`${supervisor.host} does not let Berth end models`)
      const status = await supervisor.findStatus(uid)
      if (status !== null && underWay.has(status)) {
        await cancel(supervisor, uid)
        return false
      }
      // Of a model that went with its worker the instance stays ready for good.
      if (status !== null && status !== 'ERROR' && status !== 'READY') return false
      const { state } = await supervisor.describe(uid)
      return state === 'unknown'
    },
  }
}

/** How it went is told by the next look: a 500 says that there is no launch, or none any longer. */
async function askToCancel(supervisor: Supervisor, path: string): Promise<void> {
  try {
    await supervisor.ask({ method: 'POST', path, timeoutMs: cancelTimeoutMs })
  } catch (error) {
    if (!(error instanceof SupervisorFault)) throw error
  }
}
