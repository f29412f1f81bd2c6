import { randomUUID } from 'node:crypto'
import type { Services } from '../../../services.ts'
import type { Logger } from 'pino'
import { reportLoads } from '../../deployments/serving/instance-loads.ts'
import type { StatisticsRecorder } from '../../statistics/recorder.ts'
import type { Admission } from '../waiting/admission.ts'
import type { Waking } from '../waiting/waking.ts'

/**
 * Reports regularly the requests in flight at each instance and those waiting for deployments, so that
 * workers know idle deployments, desired instances and drained instances. Leaves out unused ones.
 */
export function reportInFlight(
  { db, log, config }: Pick<Services, 'db' | 'config'> & { log: Pick<Logger, 'warn'> },
  admission: Pick<Admission, 'takeLoads'>,
  waking: Pick<Waking, 'takeHeld'>,
): { close(): Promise<void> } {
  const processId = randomUUID()
  let reporting: Promise<void> = Promise.resolve()
  let isReporting = false

  async function report(): Promise<void> {
    const held = [...waking.takeHeld()].map(([deploymentId, requests]) => ({ deploymentId, requests }))
    await reportLoads(db, processId, admission.takeLoads(), held)
  }

  const timer = setInterval(() => {
    if (isReporting) return
    isReporting = true
    reporting = report()
      .catch((error: unknown) => log.warn({ err: error }, 'could not report the requests in flight'))
      .finally(() => {
        isReporting = false
      })
  }, config.pace.loadReport)
  timer.unref()
  return {
    async close() {
      clearInterval(timer)
      await reporting
    },
  }
}

const sampleMilliseconds = 1_000
/** A process that was frozen knows nothing about the time in between. */
const longestMilliseconds = 5_000

/** Adds each deployment's requests in flight and in queues in this process to the statistics every second. */
export function sampleLoads(
  statistics: Pick<StatisticsRecorder, 'recordLoad'>,
  admission: Pick<Admission, 'inFlightByDeployment' | 'countWaiting'>,
  waking: Pick<Waking, 'countHeld'>,
): { close(): void } {
  let last = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    const seconds = Math.min(now - last, longestMilliseconds) / 1000
    last = now
    const inFlight = admission.inFlightByDeployment
    const waiting = admission.countWaiting()
    for (const [id, count] of waking.countHeld()) waiting.add(id, count)
    for (const id of new Set([...inFlight.keys(), ...waiting.keys()])) {
      const inFlightSeconds = inFlight.get(id) * seconds
      statistics.recordLoad(id, { inFlightSeconds, waitingSeconds: waiting.get(id) * seconds })
    }
  }, sampleMilliseconds)
  timer.unref()
  return { close: () => clearInterval(timer) }
}
