/**
 * The legal transitions of an instance: one engine on one piece of hardware. A `running` instance has served;
 * its engine may be restarting. It returns to `provisioning` to move to larger hardware. A `draining` one
 * only finishes its requests. At the end, `released`, the runtime holds nothing for it.
 */
export const instanceTransitions = {
  requested: ['provisioning', 'releasing'],
  provisioning: ['deploying', 'releasing'],
  deploying: ['running', 'provisioning', 'releasing'],
  running: ['provisioning', 'draining', 'releasing'],
  draining: ['running', 'releasing'],
  releasing: ['released'],
  released: [],
} as const satisfies Record<string, readonly string[]>

export type InstanceStatus = keyof typeof instanceTransitions

/** What callers and the scaling rule tell apart. */
export type InstancePhase = 'starting' | 'running' | 'draining' | 'releasing'

export const instancePhases = {
  requested: 'starting',
  provisioning: 'starting',
  deploying: 'starting',
  running: 'running',
  draining: 'draining',
  releasing: 'releasing',
  released: 'releasing',
} as const satisfies Record<InstanceStatus, InstancePhase>

/** The statuses that may follow `From`, so that an illegal transition doesn't compile. */
export type NextInstanceStatus<From extends InstanceStatus> = (typeof instanceTransitions)[From][number]
