import type { DeploymentEvent } from '../store.ts'

type Phase = 'provisioning' | 'download' | 'start'

/**
 * Says how long each phase between the choice of the instance and the first response took, from the deployment's events since it last
 * ran or slept, oldest first: `Provisioning took 2 s, the download 35 s and the start 12 s.`
 */
export function describeStartDurations(
  events: readonly Pick<DeploymentEvent, 'at' | 'status' | 'stage'>[],
  readyAt: Date,
): string {
  const milliseconds = new Map<Phase, number>()
  const before = events.findLastIndex(({ status }) => status === 'running' || status === 'sleeping')
  const ofStart = events.slice(before + 1)
  for (const [index, event] of ofStart.entries()) {
    const phase = findPhase(event)
    if (phase === null) continue
    const until = ofStart[index + 1]?.at ?? readyAt
    milliseconds.set(phase, (milliseconds.get(phase) ?? 0) + until.getTime() - event.at.getTime())
  }
  const words: [Phase, string][] = [
    ['provisioning', 'provisioning'],
    ['download', 'the download'],
    ['start', 'the start of the engine'],
  ]
  const parts = words.flatMap(([phase, noun]) => {
    const spent = milliseconds.get(phase)
    return spent === undefined ? [] : `${noun} took ${formatDuration(spent)}`
  })
  const text = parts.join(', ')
  return text === '' ? '' : `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

function findPhase({ status, stage }: Pick<DeploymentEvent, 'status' | 'stage'>): Phase | null {
  if (status === 'provisioning') return 'provisioning'
  if (status !== 'deploying') return null
  return stage === 'model_download' ? 'download' : 'start'
}

/** `0.4 s`, `35 s`, `12 min 5 s`. */
function formatDuration(milliseconds: number): string {
  if (milliseconds < 10_000) return `${(Math.max(0, milliseconds) / 1000).toFixed(1)} s`
  const seconds = Math.round(milliseconds / 1000)
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}
