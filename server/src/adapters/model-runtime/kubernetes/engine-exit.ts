import type { EngineFailure } from '../../../ports/engine-failures.ts'
import { logRules } from '../engine-failures.ts'
import { findLastExit, findEngine, sentence } from './pods.ts'
import type { PodSnapshot } from './pods.ts'

const crashesBeforeFailure = 3

/** The failure behind the last exit; null if a restart may help, because the kubelet restarts containers. */
export function diagnoseExit(snapshot: PodSnapshot): EngineFailure | null {
  const exit = findLastExit(snapshot.pod)
  const engine = findEngine(snapshot.pod)
  // An engine that has started since then has recovered, regardless of the number of restarts.
  if (exit === null || (engine?.state?.running !== undefined && engine.started === true)) return null
  if (exit.reason === 'OOMKilled') {
    const message = 'The engine was killed because it used more memory than its pod or node has.'
    return { stage: 'runtime', code: 'out_of_memory', message }
  }
  const probe = snapshot.events.findLast(
    ({ reason, message }) => reason === 'Killing' && /failed \w+ probe/.test(message ?? ''),
  )
  if (probe?.message?.includes('startup probe') === true) {
    const message =
      'The engine did not become ready within the time allowed for downloading and loading the model.'
    return { stage: 'health_check', code: 'readiness_timeout', message }
  }
  const isCrashLooping =
    engine?.state?.waiting?.reason === 'CrashLoopBackOff' ||
    (engine?.restartCount ?? 0) >= crashesBeforeFailure
  for (const { pattern, stage, code, message, isTransient } of logRules) {
    const line = snapshot.lastLines.findLast((text) => pattern.test(text))
    if (line === undefined || (isTransient && !isCrashLooping)) continue
    return { stage, code, message: `${message} Engine log: ${sentence(line)}` }
  }
  if (!isCrashLooping) return null
  if (probe !== undefined) {
    const message = 'The engine repeatedly failed its health check.'
    return { stage: 'health_check', code: 'engine_unreachable', message }
  }
  const lastLine = snapshot.lastLines.at(-1)
  return {
    stage: 'model_launch',
    code: 'engine_crashed',
    message: `The engine keeps crashing with exit code ${exit.exitCode}. ${
      lastLine === undefined ? 'Its log is empty.' : `Last log line: ${sentence(lastLine)}`
    }`,
  }
}
