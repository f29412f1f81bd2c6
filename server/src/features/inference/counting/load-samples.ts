import type { StatisticsRecorder } from '../../statistics/recorder.ts'
import type { Admission } from '../waiting/admission.ts'
import type { Waking } from '../waiting/waking.ts'

const intervalMilliseconds = 1_000
/** A process that was frozen knows nothing about the time in between. */
const longestMilliseconds = 5_000

/**
 * Adds every second how many requests this process has in flight for each deployment, and how many wait, to
 * the statistics.
 */
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
  }, intervalMilliseconds)
  timer.unref()
  return { close: () => clearInterval(timer) }
}
