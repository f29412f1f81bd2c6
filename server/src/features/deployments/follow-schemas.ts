import { z } from 'zod'
import { page, pageQuery, queryInteger, timestamp } from '../../http/schemas.ts'
import { deploymentQuery } from './schemas.ts'
import { maxLogLines } from './state/engine-log.ts'
import type { InstanceLogLine } from './state/engine-log.ts'
import { deploymentStatuses } from './state/lifecycle.ts'
import { describeEvent } from './state/describe-event.ts'
import { transitionCauses, transitionPhases, transitionTypes } from './state/event-transition.ts'
import type { EventTransition, PhaseDuration } from './state/event-transition.ts'
import { changedSettings } from './state/settings-change.ts'
import type { ListedEvent } from './state/store.ts'

export const logsQuery = deploymentQuery.extend({
  tail: queryInteger({ min: 0, max: maxLogLines })
    .optional()
    .describe(`The number of last lines; ${maxLogLines} by default, and 200 for a stream`),
  instance: z.string().optional().describe('Id of an instance, for its lines only'),
})

const seconds = z.number().min(0)

const transition = z
  .object({
    type: z
      .enum(transitionTypes)
      .describe('`start` is the first one; a `restart` follows the loss of all instances'),
    cause: z
      .enum(transitionCauses)
      .nullable()
      .describe(
        'Why it wakes: `request`, `person`, `schedule`. Why it falls asleep: `person`, `idle`, `budget`; `yield`: another deployment needs ' +
          'its hardware; `refusal`: it was woken, and there was no hardware or a budget is exhausted; `failure`: it could not be started for an hour. null for a start and a restart',
      ),
    route: z.string().nullable().describe('Path of the request that woke it; null for another cause'),
    by: z.string().nullable().describe('Name of the person who woke it or put it to sleep'),
    idle_minutes: z.int().nullable().describe('The minutes without requests, for `idle`'),
    after_seconds: seconds
      .nullable()
      .describe('How long it slept before, or served before; null if it did neither'),
    phases: z
      .array(
        z.object({
          phase: z
            .enum(transitionPhases)
            .describe('`drain`: requests in flight are finished; `release`: the hardware is released'),
          seconds: seconds.describe('Its duration'),
        }),
      )
      .nullable()
      .describe('How long each phase took; null in the event with which the transition begins'),
  })
  .meta({ id: 'DeploymentTransition', description: 'A start, wake or sleep of a deployment' })

export const eventItem = z
  .object({
    id: z.int().describe('Grows with each event of a deployment'),
    at: timestamp.describe('Time of the event'),
    status: z.enum(deploymentStatuses).describe('Status from then on'),
    stage: z.string().nullable().describe('Step of the deployment; null if the event belongs to none'),
    message: z.string().describe('A sentence for a person'),
    instance_type: z.string().nullable().describe('The instance type, in events that report its choice'),
    transition: transition
      .nullable()
      .describe('In the first and the last event of a wake or sleep, and when the deployment has started'),
  })
  .meta({ id: 'DeploymentEvent', description: 'A change of a deployment' })

export const logItem = z
  .object({
    at: timestamp.describe('Time of the line'),
    line: z.string().describe('The text, without a line break'),
    instance: z.string().meta({ format: 'uuid', description: 'Id of the instance whose engine wrote it' }),
  })
  .meta({ id: 'DeploymentLogLine', description: 'A line of the engine’s log' })

export const activityQuery = deploymentQuery.extend(pageQuery.shape)

const settings = z.partialRecord(z.enum(changedSettings), z.unknown())

const activityItem = z
  .object({
    ...eventItem.pick({ id: true, at: true, status: true, stage: true, message: true }).shape,
    by: z
      .string()
      .nullable()
      .describe('Name of the person who changed the settings, woke it, put it to sleep or terminated it'),
    seconds: seconds
      .nullable()
      .describe('How long a start, wake or sleep took; null for what has no duration'),
    transition: transition.nullable().describe('The start, wake or sleep that was complete then'),
    change: z
      .object({
        before: settings.describe('The changed settings before'),
        after: settings.describe('The changed settings since'),
      })
      .nullable()
      .describe('Settings that a person changed, as in the deployment; `adapters` has names'),
  })
  .meta({ id: 'DeploymentActivityItem', description: 'Something that happened to a deployment' })

export const activityBody = page(activityItem).meta({
  id: 'DeploymentActivity',
  description: 'What happened to a deployment, newest first, a line for each start, wake and sleep',
})

export function toActivityItem(event: ListedEvent): z.infer<typeof activityItem> {
  const { id, at, status, stage, transition, change, by } = event
  const phases = transition?.phases ?? null
  return {
    id,
    at: at.toISOString(),
    status,
    stage,
    message: describeEvent(event),
    by,
    seconds: phases && sumSeconds(phases),
    transition: transition && toTransitionBody(transition, by),
    change:
      change === null || Object.keys(change.after).length === 0
        ? null
        : { before: change.before, after: change.after },
  }
}

/** To a millisecond, as the phases */
function sumSeconds(phases: readonly PhaseDuration[]): number {
  return Math.round(phases.reduce((sum, { seconds: some }) => sum + some * 1000, 0)) / 1000
}

export const eventsBody = z
  .object({ items: z.array(eventItem).describe('The events') })
  .meta({ id: 'DeploymentEvents', description: 'The events of a deployment, oldest first' })

export const logsBody = z
  .object({ items: z.array(logItem).describe('The lines') })
  .meta({ id: 'DeploymentLogs', description: 'The last lines of the engine’s log, oldest first' })

export function toEventItem(event: ListedEvent): z.infer<typeof eventItem> {
  const { id, at, status, stage, instance_type, transition, by } = event
  return {
    id,
    at: at.toISOString(),
    status,
    stage,
    message: describeEvent(event),
    instance_type,
    transition: transition && toTransitionBody(transition, by),
  }
}

/** The ids of persons are internal. */
function toTransitionBody(stored: EventTransition, by: string | null): z.infer<typeof transition> {
  const { user_id: _, ...shown } = stored
  return { ...shown, by }
}

export function toLogItem({ at, line, instanceId }: InstanceLogLine): z.infer<typeof logItem> {
  return { at: at.toISOString(), line, instance: instanceId }
}
