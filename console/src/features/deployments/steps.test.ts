import { expect, test } from 'vitest'
import type { DeploymentEvent } from '../../contract.ts'
import { findCurrentStep, nameStep, toSteps } from './steps.ts'

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString()
const event = (
  second: number,
  status: DeploymentEvent['status'],
  stage: string | null,
  instance_type: string | null = null,
  transition: DeploymentEvent['transition'] = null,
): DeploymentEvent => ({
  id: second,
  at: at(second),
  status,
  stage,
  message: `message ${second}`,
  instance_type,
  transition,
})

type Transition = NonNullable<DeploymentEvent['transition']>

const transition = (
  type: Transition['type'],
  cause: Transition['cause'],
  phases: Transition['phases'] = null,
): Transition => ({ type, cause, phases, route: null, by: null, idle_minutes: null, after_seconds: null })

const events = [
  event(0, 'requested', null),
  event(1, 'provisioning', 'instance_selection', 'l4-x1'),
  event(2, 'provisioning', 'provisioning'),
  event(9, 'deploying', 'provisioning'),
  event(10, 'deploying', 'model_download'),
  event(20, 'deploying', 'model_download'),
  event(30, 'deploying', 'model_download'),
  event(40, 'running', null),
]

test('repeated events of a stage are one step, which lasts until the next step', () => {
  const steps = toSteps(events)
  expect(steps.map(nameStep)).toEqual([
    'requested',
    'instance_selection',
    'waiting_for_instance',
    'provisioning',
    'model_download',
    'running',
  ])
  expect(steps.map(({ instance_type }) => instance_type)).toEqual([null, 'l4-x1', null, null, null, null])
  const download = steps[4]
  expect(download).toMatchObject({ at: at(10), message: 'message 30', tookMilliseconds: 30_000 })
  expect(download?.earlier.map(({ message }) => message)).toEqual(['message 10', 'message 20'])
  expect(steps.at(-1)?.tookMilliseconds).toBeNull()
  expect(toSteps([])).toEqual([])
})

test('a change of a setting is its own step, which ends no other', () => {
  const changed = [...events.slice(0, 5), event(12, 'deploying', null), ...events.slice(5)]
  const steps = toSteps([...changed, event(50, 'running', null), event(60, 'terminated', null)])
  expect(steps.map(nameStep).slice(4)).toEqual([
    'model_download',
    'changed',
    'model_download',
    'running',
    'changed',
    'terminated',
  ])
  expect(steps.map(({ tookMilliseconds }) => tookMilliseconds).slice(4)).toEqual([
    10_000,
    null,
    20_000,
    20_000,
    null,
    null,
  ])
  const restarted = toSteps([
    event(0, 'running', null),
    event(1, 'running', 'runtime'),
    event(2, 'running', null),
  ])
  expect(restarted.map(nameStep)).toEqual(['running', 'runtime', 'running'])
})

test('a running deployment ran until its status changed, and what happened meanwhile has no duration', () => {
  const steps = toSteps([
    event(0, 'running', null, null, transition('start', null, [])),
    event(40, 'running', 'runtime'),
    event(106, 'sleeping', 'termination', null, transition('sleep', 'idle', [])),
    event(110, 'provisioning', 'wake', null, transition('wake', 'request')),
    event(112, 'running', null, null, transition('wake', 'request', [])),
  ])
  expect(steps.map(({ tookMilliseconds }) => tookMilliseconds)).toEqual([106_000, null, 4_000, 2_000, null])
})

test('a step is in progress while the deployment changes and has the status of the step', () => {
  const [download] = toSteps(events.slice(4, 7))
  expect(findCurrentStep([download!], { status: 'deploying', waiting_for: null, instances: [] })).toBe(
    download,
  )
  expect(findCurrentStep([], { status: 'requested', waiting_for: null, instances: [] })).toBeNull()
  const ended = toSteps([...events.slice(0, 7), event(31, 'failed', 'model_download')])
  expect(findCurrentStep(ended, { status: 'deploying', waiting_for: 'retry', instances: [] })).toBeNull()
  expect(findCurrentStep(toSteps(events), { status: 'running', waiting_for: null, instances: [] })).toBeNull()
})

test('a start, a sleep and a wake have their own steps; a refused wake says so', () => {
  const steps = toSteps([
    event(40, 'running', null, null, transition('start', null, [])),
    event(50, 'running', 'sleep', null, transition('sleep', 'idle')),
    event(55, 'sleeping', 'termination', null, transition('sleep', 'idle', [])),
    event(60, 'provisioning', 'wake', null, transition('wake', 'request')),
    event(61, 'provisioning', 'provisioning'),
    event(70, 'provisioning', 'provisioning', null, transition('sleep', 'refusal')),
    event(71, 'sleeping', 'termination', null, transition('sleep', 'refusal', [])),
    event(100, 'provisioning', 'wake', null, transition('wake', 'person')),
    event(104, 'running', null, null, transition('wake', 'person', [])),
    event(110, 'running', 'termination'),
    event(120, 'deploying', 'engine_startup'),
    event(130, 'running', null, null, transition('restart', null, [])),
  ])
  expect(steps.map(nameStep)).toEqual([
    'running',
    'sleep',
    'asleep',
    'wake',
    'refused',
    'asleep',
    'wake',
    'awake',
    'given_back',
    'engine_startup',
    'again',
  ])
})
