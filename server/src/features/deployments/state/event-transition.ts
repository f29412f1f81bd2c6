/** Ways of a deployment to become awake, and to fall asleep. A `restart` follows a loss of all instances. */
export const transitionTypes = ['start', 'restart', 'wake', 'sleep'] as const

/** Why a deployment wakes or falls asleep. `refusal`: no hardware; `failure`: no start. */
export const transitionCauses = [
  'request',
  'person',
  'schedule',
  'idle',
  'budget',
  'yield',
  'refusal',
  'failure',
] as const

export const transitionPhases = ['provisioning', 'download', 'start', 'drain', 'release'] as const

export type TransitionCause = (typeof transitionCauses)[number]
export type TransitionPhase = (typeof transitionPhases)[number]

export interface PhaseDuration {
  phase: TransitionPhase
  seconds: number
}

/** What an event says about a start, wake or sleep; stored as in the API, except for the person. */
export interface EventTransition {
  type: (typeof transitionTypes)[number]
  /** Null for a start and a restart */
  cause: TransitionCause | null
  /** The path of the request that woke the deployment, such as `/v1/chat/completions` */
  route: string | null
  /** The person who woke it, or put it to sleep */
  user_id: number | null
  /** The minutes without requests after which it falls asleep */
  idle_minutes: number | null
  /** How long it slept before it was woken, or served before it falls asleep; null if it did neither */
  after_seconds: number | null
  /** How long each phase took; null in the event that starts the transition */
  phases: PhaseDuration[] | null
}

/** Who or what began a wake or a sleep. */
export type TransitionOrigin = { cause: TransitionCause } & Partial<
  Pick<EventTransition, 'route' | 'user_id' | 'idle_minutes'>
>

/** A wake or sleep that starts now. `since`: end of the last sleep or wake; null if that was incomplete. */
export function beginTransition(
  type: 'wake' | 'sleep',
  origin: TransitionOrigin,
  since: Date | null,
  at: Date,
): EventTransition {
  const unknown = { route: null, user_id: null, idle_minutes: null }
  const seconds = since === null ? null : Math.max(0, at.getTime() - since.getTime()) / 1000
  return { type, ...unknown, ...origin, after_seconds: seconds, phases: null }
}
