import { expect, test } from 'vitest'
import { instanceTransitions } from '../state/instance-lifecycle.ts'
import type { InstanceStatus } from '../state/instance-lifecycle.ts'
import { deploymentTransitions } from '../state/lifecycle.ts'
import type { DeploymentStatus, DesiredState } from '../state/lifecycle.ts'
import type { Recovery } from '../state/recovery.ts'
import { deriveStatus } from './derive-status.ts'

interface State {
  status: DeploymentStatus
  desired_state: DesiredState
  failure_reason: string | null
  hasServed: boolean
  isRecovering: boolean
  instances: readonly InstanceStatus[]
}

const created: State = {
  status: 'requested',
  desired_state: 'awake',
  failure_reason: null,
  hasServed: false,
  isRecovering: false,
  instances: [],
}
const at = new Date(0)
const recovery: Recovery = {
  since: at.toISOString(),
  attempts: 1,
  next_at: at.toISOString(),
  served_at: null,
  cause: { stage: 'runtime', code: 'engine_crashed', message: 'No.' },
}

function derive(state: State): State {
  const instances = state.instances.map((status) => ({
    status,
    waiting_for: null,
    status_message: null,
    progress: null,
  }))
  const columns = { ran_at: state.hasServed ? at : null, recovery: state.isRecovering ? recovery : null }
  return { ...state, status: deriveStatus({ ...state, ...columns }, instances).status }
}

/** What people, the autoscaler and the steps of the instances can make of a deployment next. */
function listNext(state: State): State[] {
  const { status, desired_state, failure_reason: failure, instances } = state
  const next: State[] = []
  const isActive = desired_state !== 'ended' && failure === null
  if (desired_state !== 'ended') {
    next.push({
      ...state,
      desired_state: 'ended',
      status: 'terminating',
      instances: instances.map(() => 'releasing'),
    })
  } else if (instances.length === 0) next.push(derive(state))
  if (isActive && desired_state === 'awake') {
    if (status === 'running') next.push({ ...state, desired_state: 'asleep' })
    if (instances.length < 2) next.push(derive({ ...state, instances: [...instances, 'requested'] }))
  }
  if (isActive && desired_state === 'asleep') {
    const isAsleep = status === 'sleeping'
    next.push({
      ...state,
      desired_state: 'awake',
      isRecovering: false,
      status: isAsleep ? 'provisioning' : status,
    })
  }
  for (const [index, from] of instances.entries()) {
    for (const to of instanceTransitions[from]) {
      const changed = to === 'released' ? instances.toSpliced(index, 1) : instances.with(index, to)
      const serves = to === 'running' ? { hasServed: true, isRecovering: false } : {}
      next.push(derive({ ...state, ...serves, instances: changed }))
      if (isActive && to === 'releasing') next.push(...listFailures(state, from, changed))
    }
  }
  return next
}

/** What the failure of an instance that was `from` can make of a deployment (`failInstance`). */
function listFailures(state: State, from: InstanceStatus, instances: readonly InstanceStatus[]): State[] {
  const released = { ...state, instances }
  if (!instances.every((each) => each === 'releasing') || state.desired_state !== 'awake') return []
  if (!state.hasServed) return [derive({ ...released, failure_reason: 'engine_crashed: No.' })]
  const isRefused = from === 'requested' || from === 'provisioning'
  return [
    derive({ ...state, isRecovering: true }),
    derive({ ...released, isRecovering: true }),
    ...(isRefused || state.isRecovering ? [derive({ ...released, desired_state: 'asleep' })] : []),
  ]
}

test('a deployment with up to two instances makes each transition of the table, and no other', () => {
  const reached = new Map([[JSON.stringify(created), created]])
  const made = Object.fromEntries(
    Object.keys(deploymentTransitions).map((status) => [status, new Set<DeploymentStatus>()]),
  )
  for (const state of reached.values()) {
    for (const next of listNext(state)) {
      if (next.status !== state.status) made[state.status]!.add(next.status)
      reached.set(JSON.stringify(next), next)
    }
  }
  for (const [status, transitions] of Object.entries(deploymentTransitions)) {
    expect([...made[status]!].toSorted(), status).toEqual([...transitions].toSorted())
  }
})
