import { z } from 'zod'
import { count, timestamp } from '../../http/schemas.ts'
import type { InstanceLoad } from './serving/instance-loads.ts'
import { instancePhases } from './state/instance-lifecycle.ts'
import type { Instance } from './state/instance-store.ts'

export const instanceBody = z
  .object({
    id: z.string().meta({ format: 'uuid' }).describe('Id of the instance'),
    status: z
      .enum(['starting', 'running', 'draining', 'releasing'])
      .describe(
        'A `running` instance has served; its engine may be restarting. A `draining` one finishes its requests and gets no new ones',
      ),
    instance_type: z.string().nullable().describe('null until it is chosen'),
    region: z.string().nullable().describe('null until the instance type is chosen'),
    cluster_id: z.string().nullable().describe('The cluster or machine; null before the hardware exists'),
    instance_id: z.string().nullable().describe('Id of the hardware at the compute backend'),
    gpu_allocation_id: z
      .string()
      .nullable()
      .describe('Id of the GPUs, or of the host, at the compute backend'),
    started_at: timestamp
      .nullable()
      .describe('When the compute backend handed the hardware over; null before'),
    in_flight: count.describe('Requests at the engine, and those that wait for it, about a second ago'),
  })
  .meta({ id: 'DeploymentInstance', description: 'One engine of a deployment on its hardware' })

export const isLive = ({ status }: Instance) => status !== 'released'

export function toHardware(instance: Instance | null) {
  return {
    cluster_id: instance?.cluster_id ?? null,
    instance_id: instance?.instance_id ?? null,
    gpu_allocation_id: instance?.gpu_allocation_id ?? null,
  }
}

export function toInstanceBody(
  instance: Instance,
  loads: ReadonlyMap<string, InstanceLoad>,
): z.infer<typeof instanceBody> {
  return {
    id: instance.id,
    status: instancePhases[instance.status],
    instance_type: instance.instance_type,
    region: instance.region,
    ...toHardware(instance),
    started_at: instance.started_at?.toISOString() ?? null,
    in_flight: loads.get(instance.id)?.inFlight ?? 0,
  }
}
