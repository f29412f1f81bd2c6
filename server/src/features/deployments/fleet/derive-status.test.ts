import { expect, test } from 'vitest'
import { instanceTransitions } from '../state/instance-lifecycle.ts'
import type { InstanceStatus } from '../state/instance-lifecycle.ts'
import { deploymentTransitions } from '../state/lifecycle.ts'
import type { DeploymentStatus, DesiredState } from '../state/lifecycle.ts'
import { deriveStatus } from './derive-status.ts'

interface State {
  status: DeploymentStatus
  desired_state: DesiredState
  failure_reason: string | null
  instances: readonly InstanceStatus[]
}

const created: State = { status: 'requested', desired_state: 'awake', failure_reason: null, instances: [] }

function derive(state: State): State {
  const instances = state.instances.map((status) => ({
    status,
    waiting_for: null,
    status_message: null,
    progress: null,
  }))
  return { ...state, status: deriveStatus(state, instances).status }
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
    next.push({ ...state, desired_state: 'awake', status: status === 'sleeping' ? 'provisioning' : status })
  }
  for (const [index, from] of instances.entries()) {
    for (const to of instanceTransitions[from]) {
      const changed = to === 'released' ? instances.toSpliced(index, 1) : instances.with(index, to)
      next.push(derive({ ...state, instances: changed }))
      if (!isActive || to !== 'releasing') continue
      next.push(derive({ ...state, instances: changed, failure_reason: 'engine_crashed: No.' }))
      const isAlone = changed.every((each) => each === 'releasing')
      if (
        isAlone &&
        desired_state === 'awake' &&
        (from === 'requested' || from === 'provisioning') &&
        status !== 'requested'
      )
        next.push(derive({ ...state, instances: changed, desired_state: 'asleep' }))
    }
  }
  return next
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
