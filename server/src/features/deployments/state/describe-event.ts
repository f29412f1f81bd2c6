import type { EventTransition, PhaseDuration, TransitionPhase } from './event-transition.ts'

interface DescribedEvent {
  message: string
  transition: EventTransition | null
  /** The name of the person behind the wake or sleep; null for a deleted account */
  by: string | null
}

/** The sentences of an event for people. */
export function describeEvent({ message, transition, by }: DescribedEvent): string {
  if (transition === null) return message
  const { type, cause, phases } = transition
  if (phases !== null) return [describeEnd(type, message), describePhases(phases)].filter(Boolean).join(' ')
  if (cause === 'refusal' || cause === 'failure') return message
  return type === 'wake' ? describeWake(transition, by) : describeSleep(transition, by)
}

function describeEnd(type: EventTransition['type'], message: string): string {
  if (type === 'sleep') return message
  return type === 'wake' ? 'The model is awake and ready for requests.' : 'The model is ready for requests.'
}

function describeWake({ cause, route, after_seconds: seconds }: EventTransition, by: string | null): string {
  const woken =
    cause === 'request'
      ? `Woken by ${nameRequest(route)}`
      : cause === 'schedule'
        ? 'Woken by a schedule'
        : `Woken by ${by ?? formerPerson}`
  if (seconds === null) return `${woken} before it was asleep.`
  const minutes = Math.round(seconds / 60)
  return `${woken} after ${minutes === 0 ? 'less than a minute' : formatMinutes(minutes)}.`
}

function describeSleep({ cause, idle_minutes: minutes }: EventTransition, by: string | null): string {
  switch (cause) {
    case 'idle':
      return `Falls asleep after ${formatMinutes(minutes ?? 0)} without requests.`
    case 'budget':
      return 'Falls asleep because a budget is exhausted.'
    case 'yield':
      return 'Falls asleep because another deployment needs its hardware.'
    default:
      return `Put to sleep by ${by ?? formerPerson}.`
  }
}

const formerPerson = 'a former member'

/** What people call the requests of routes. */
const requestNames: Readonly<Record<string, string>> = {
  '/v1/chat/completions': 'a chat request',
  '/v1/messages': 'a chat request',
  '/v1/responses': 'a chat request',
  '/v1/completions': 'a completion request',
  '/v1/embeddings': 'an embedding request',
  '/v1/rerank': 'a reranking request',
  '/v2/rerank': 'a reranking request',
  '/rerank': 'a reranking request',
}

const nameRequest = (route: string | null) => requestNames[route ?? ''] ?? 'a request'

const formatMinutes = (minutes: number) => `${minutes} ${minutes === 1 ? 'minute' : 'minutes'}`

const phaseNames: Readonly<Record<TransitionPhase, string>> = {
  provisioning: 'provisioning',
  download: 'the download',
  start: 'the start of the engine',
  drain: 'finishing requests',
  release: 'the release',
}

/** `Provisioning took 2.0 s, the download took 35 s, the start of the engine took 12 s.` */
function describePhases(phases: readonly PhaseDuration[]): string {
  const parts = phases.map(({ phase, seconds }) => `${phaseNames[phase]} took ${formatSeconds(seconds)}`)
  const text = parts.join(', ')
  return text === '' ? '' : `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

/** `0.4 s`, `35 s`, `12 min 5 s`. */
function formatSeconds(seconds: number): string {
  if (seconds < 10) return `${Math.max(0, seconds).toFixed(1)} s`
  const whole = Math.round(seconds)
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`
}
