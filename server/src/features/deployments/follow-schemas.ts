import { z } from 'zod'
import { queryInteger, timestamp } from '../../http/schemas.ts'
import { maxLogLines } from './engine-log.ts'
import type { InstanceLogLine } from './engine-log.ts'
import { deploymentStatuses } from './lifecycle.ts'
import type { DeploymentEvent } from './store.ts'

export const logsQuery = z.object({
  tail: queryInteger({ min: 0, max: maxLogLines })
    .optional()
    .describe(`The number of last lines; ${maxLogLines} by default, and 200 for a stream`),
  instance: z.string().optional().describe('Id of an instance, for its lines only'),
})

export const eventItem = z
  .object({
    id: z.int().describe('Grows with each event of a deployment'),
    at: timestamp.describe('Time of the event'),
    status: z.enum(deploymentStatuses).describe('Status from then on'),
    stage: z.string().nullable().describe('Step of the deployment; null if the event belongs to none'),
    message: z.string().describe('A sentence for a person'),
    instance_type: z.string().nullable().describe('The instance type, in events that report its choice'),
  })
  .meta({ id: 'DeploymentEvent', description: 'A change of a deployment' })

export const logItem = z
  .object({
    at: timestamp.describe('Time of the line'),
    line: z.string().describe('The text, without a line break'),
    instance: z.string().meta({ format: 'uuid' }).describe('Id of the instance whose engine wrote it'),
  })
  .meta({ id: 'DeploymentLogLine', description: 'A line of the engine’s log' })

export const eventsBody = z
  .object({ items: z.array(eventItem).describe('The events') })
  .meta({ id: 'DeploymentEvents', description: 'The events of a deployment, oldest first' })

export const logsBody = z
  .object({ items: z.array(logItem).describe('The lines') })
  .meta({ id: 'DeploymentLogs', description: 'The last lines of the engine’s log, oldest first' })

export function toEventItem(event: DeploymentEvent): z.infer<typeof eventItem> {
  const { id, at, status, stage, message, instance_type } = event
  return { id, at: at.toISOString(), status, stage, message, instance_type }
}

export function toLogItem({ at, line, instanceId }: InstanceLogLine): z.infer<typeof logItem> {
  return { at: at.toISOString(), line, instance: instanceId }
}
