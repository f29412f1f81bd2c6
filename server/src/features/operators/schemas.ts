import { z } from 'zod'
import { count, entityId, page, pathId, timestamp } from '../../http/schemas.ts'
import type { Finding } from './finding.ts'
import type { Health } from './read-health.ts'
import type {
  Machines,
  OrganizationFacts,
  PlacedInstance,
  WaitingInstance,
  readWeights,
} from './read-installation.ts'

const placedInstance = {
  deployment_id: z.string().describe('Id of the deployment'),
  organization_id: entityId.describe('Id of its organization'),
  organization_name: z.string().describe('Name of its organization'),
  model_name: z.string().describe('Name of its model'),
  status: z.string().describe('Status of the instance'),
  instance_type: z.string().nullable().describe('null until one is chosen'),
  gpu_count: count.nullable().describe('Number of GPUs; null until an instance type is chosen'),
  memory_bytes: count.nullable().describe('Memory that the instance reserves'),
  since: timestamp.describe('When the instance got its hardware, or began to wait for it'),
}

const placedInstanceBody = z
  .object(placedInstance)
  .meta({ id: 'PlacedInstance', description: 'An instance of a deployment of any organization' })

const bytes = count.nullable()

const machineBody = z
  .object({
    address: z.string().describe('Address of the machine in its cluster'),
    runtime: z.string().describe('The compute backend that it belongs to'),
    state: z
      .enum(['present', 'left', 'unknown'])
      .describe('`left`: it does not respond anymore. `unknown`: its cluster does not respond'),
    last_seen_at: timestamp.nullable().describe('When it last responded; null when unknown'),
    version: z.string().nullable().describe("Version of the cluster's program there; null when unknown"),
    cpu_count: count.nullable().describe('Number of CPU cores; null when unknown'),
    memory_bytes: bytes.describe('Its memory without that of GPUs; null when unknown'),
    free_bytes: bytes.describe('What of it is free; null when unknown'),
    gpus: z
      .array(
        z.object({
          name: z.string().nullable().describe('Name of the GPU; null when unknown'),
          memory_bytes: count.describe('Its memory'),
          free_bytes: count.describe('What of it is free'),
        }),
      )
      .describe('Its GPUs'),
    instances: z.array(placedInstanceBody).describe('The instances that run there'),
  })
  .meta({ id: 'Machine', description: 'A machine of a cluster, and what runs there' })

export const machinesBody = z
  .object({
    runtimes: z.array(z.string()).describe('The compute backends, in the order of preference'),
    machines: z
      .array(machineBody)
      .describe('The machines of compute backends that machines join by themselves; empty without any'),
    gpus: z
      .array(
        z.object({
          name: z.string().describe('Name and driver'),
          memory_bytes: bytes.describe('Its memory; null when unknown'),
          promised_bytes: bytes.describe('Reserved for engines'),
          others_bytes: bytes.describe('Used by other programs'),
          free_bytes: bytes.describe('Neither reserved nor used by others'),
          others: z.string().nullable().describe('The other programs; null for none'),
          obstacle: z
            .string()
            .nullable()
            .describe('Why no engine can use it, and what to do; null if one can'),
        }),
      )
      .describe('The GPUs of the host; empty without any, and where machines belong to the compute backend'),
    engines: z
      .array(
        z.object({
          title: z.string().describe('Name of the engine'),
          version: z.string().nullable().describe('null when unknown'),
          used: z.boolean().describe('Whether new instances run on it'),
          reason: z.string().nullable().describe('Why it is used or not; null when unknown'),
        }),
      )
      .describe('The engines that the compute backend has'),
    instance_types: z
      .array(
        z.object({
          name: z.string().describe('Name of the instance type'),
          region: z.string().describe('Its region'),
          gpu_count: count.describe('Number of GPUs'),
          gpu_model: z.string().nullable().describe('null without a GPU'),
          memory_bytes: count.describe('Memory for an engine now'),
          promised_bytes: count.describe('Memory of all instances of this type'),
          others: z.string().nullable().describe('Programs of others that use its memory; null for none'),
          obstacle: z.string().nullable().describe('Why no engine can use it; null if one can'),
        }),
      )
      .describe('The instance types of the compute backend'),
    instances: z.array(placedInstanceBody).describe('The instances that have hardware, the oldest first'),
  })
  .meta({ id: 'Machines', description: 'The hardware of the installation, and what runs there' })

export function toMachinesBody(machines: Machines): z.infer<typeof machinesBody> {
  const { runtimes, gpus, engines, instanceTypes, instances } = machines
  return {
    runtimes,
    machines: machines.machines.map((machine) => ({
      address: machine.address,
      runtime: machine.runtime,
      state: machine.state,
      last_seen_at: machine.lastSeenAt?.toISOString() ?? null,
      version: machine.version,
      cpu_count: machine.cpuCount,
      memory_bytes: machine.memoryBytes,
      free_bytes: machine.freeBytes,
      gpus: machine.gpus.map(({ name, memoryBytes, freeBytes }) => ({
        name,
        memory_bytes: memoryBytes,
        free_bytes: freeBytes,
      })),
      instances: machine.instances.map(toPlacedInstance),
    })),
    gpus: gpus.map(({ name, memory, obstacle }) => ({
      name,
      memory_bytes: memory?.totalBytes ?? null,
      promised_bytes: memory?.promisedBytes ?? null,
      others_bytes: memory?.othersBytes ?? null,
      free_bytes:
        memory === null ? null : Math.max(0, memory.totalBytes - memory.promisedBytes - memory.othersBytes),
      others: memory?.others || null,
      obstacle,
    })),
    engines: engines.map(({ title, version, isUsed, reason }) => ({ title, version, used: isUsed, reason })),
    instance_types: instanceTypes.map((offer) => ({
      name: offer.title ?? offer.instanceType,
      region: offer.region,
      gpu_count: offer.gpuCount,
      gpu_model: offer.gpuModel,
      memory_bytes: offer.memoryBytes,
      promised_bytes: offer.promisedBytes,
      others: offer.inUse?.programs ?? null,
      obstacle: offer.obstacle ?? null,
    })),
    instances: instances.map(toPlacedInstance),
  }
}

function toPlacedInstance(instance: PlacedInstance): z.infer<typeof placedInstanceBody> {
  return {
    deployment_id: instance.deploymentId,
    organization_id: instance.organizationId,
    organization_name: instance.organizationName,
    model_name: instance.modelName,
    status: instance.status,
    instance_type: instance.instanceType,
    gpu_count: instance.gpuCount,
    memory_bytes: instance.memoryBytes,
    since: instance.since.toISOString(),
  }
}

const waitingInstance = z
  .object({ ...placedInstance, reason: z.string().nullable().describe('Why it waits; null when unknown') })
  .meta({ id: 'WaitingInstance', description: 'An instance that waits for hardware' })

export const waitingBody = z
  .object({ items: z.array(waitingInstance).describe('The longest waiting first') })
  .meta({ id: 'Waiting', description: 'What waits for hardware, and why' })

export function toWaitingBody(items: readonly WaitingInstance[]): z.infer<typeof waitingBody> {
  return { items: items.map((item) => ({ ...toPlacedInstance(item), reason: item.reason })) }
}

export const installationWeightsBody = z
  .object({
    items: z
      .array(
        z.object({
          name: z.string().describe('Names the file in the cache'),
          bytes: count.describe('Size on the disk'),
          last_used_at: timestamp.describe('When a deployment used it last'),
          in_use: z.boolean().describe('Whether a deployment needs it'),
        }),
      )
      .nullable()
      .describe('The latest used first; null where weights are on machines of the compute backend'),
    bytes: bytes.describe('Size of the cache'),
    limit_bytes: bytes.describe('Largest size of the cache'),
  })
  .meta({ id: 'InstallationWeights', description: 'The weights on the disk of the server' })

export function toInstallationWeightsBody(
  weights: Awaited<ReturnType<typeof readWeights>>,
): z.infer<typeof installationWeightsBody> {
  if (weights === null) return { items: null, bytes: null, limit_bytes: null }
  return {
    items: weights.items.map(({ name, bytes: size, usedAt, isNeeded }) => ({
      name,
      bytes: size,
      last_used_at: usedAt.toISOString(),
      in_use: isNeeded,
    })),
    bytes: weights.bytes,
    limit_bytes: weights.limitBytes,
  }
}

export const healthBody = z
  .object({
    deployments_overdue: count.describe('Deployments that a worker should have looked at over a minute ago'),
    jobs_overdue: count.describe('Background jobs that should have started over ten minutes ago'),
    jobs_failed: count.describe('Background jobs that failed in the last day, after all retries'),
    settled_at: timestamp.nullable().describe('When usage was last settled; null before the first time'),
    unsent_since: timestamp
      .nullable()
      .describe('Hour of the oldest usage that the payment processor has not confirmed; null for none'),
    anomalies: z
      .array(
        z.object({
          kind: z.string().describe('What the check of usage found'),
          organization_id: entityId.nullable().describe('null if no organization is affected'),
          opened_at: timestamp.describe('When it was found'),
        }),
      )
      .describe('Open anomalies of usage, the oldest first'),
    services: z
      .array(
        z.object({
          name: z.string().describe('What Berth uses it for'),
          reachable: z.boolean().describe('Whether it answered'),
          state: z.string().describe('How it answered, or why not'),
          since: timestamp.describe('Since when it is so, as far as this process knows'),
        }),
      )
      .describe('The servers on the network that the settings name'),
  })
  .meta({ id: 'InstallationHealth', description: 'The state of background work and of other servers' })

const toTime = (seconds: number | null) => (seconds === null ? null : new Date(seconds * 1000).toISOString())

export function toHealthBody({ operations, anomalies, targets }: Health): z.infer<typeof healthBody> {
  return {
    deployments_overdue: operations.deployments_overdue,
    jobs_overdue: operations.jobs_overdue,
    jobs_failed: operations.jobs_failed,
    settled_at: toTime(operations.settled_at),
    unsent_since: toTime(operations.unsent_since),
    anomalies: anomalies.map(({ kind, organizationId, openedAt }) => ({
      kind,
      organization_id: organizationId,
      opened_at: openedAt.toISOString(),
    })),
    services: targets.map(({ subject, isReachable, state, since }) => ({
      name: subject,
      reachable: isReachable,
      state,
      since: since.toISOString(),
    })),
  }
}

const organizationFacts = {
  id: entityId.describe('Id of the organization'),
  name: z.string().describe('Name of the organization'),
  status: z.string().describe('`active`, `suspended` or `closed`'),
  members: count.describe('Number of members'),
  running: count.describe('Number of running deployments'),
  cost_this_month: z
    .string()
    .describe(
      'Cost of the calendar month so far, in UTC, as a decimal string in the main unit of the currency',
    ),
  currency: z.string().describe('ISO 4217 code'),
}

export const organizationsBody = page(
  z.object(organizationFacts).meta({ id: 'OrganizationFacts', description: 'An organization in numbers' }),
).meta({ id: 'OrganizationFactsList', description: 'A page of the organizations, by name' })

export function toOrganizationFacts(
  { id, name, status, members, running, cost }: OrganizationFacts,
  currency: string,
) {
  return { id, name, status, members, running, cost_this_month: cost, currency }
}

export const organizationDetailParams = z.object({
  organization_id: pathId.describe('Id of an organization'),
})

export const organizationDetailBody = z
  .object({ ...organizationFacts, instances: z.array(placedInstanceBody).describe('Its instances') })
  .meta({ id: 'OrganizationDetail', description: 'An organization with its instances' })

export function toOrganizationDetail(
  facts: OrganizationFacts & { deployments: readonly PlacedInstance[] },
  currency: string,
): z.infer<typeof organizationDetailBody> {
  return { ...toOrganizationFacts(facts, currency), instances: facts.deployments.map(toPlacedInstance) }
}

export const findingsBody = z
  .object({
    items: z
      .array(
        z.object({
          subject: z.string().describe('What was checked'),
          state: z.string().describe('What was found'),
          remedy: z.string().nullable().describe('What to do; null if all is well'),
        }),
      )
      .describe('Problems first'),
  })
  .meta({ id: 'Findings', description: 'What `npm run admin -- doctor` finds' })

export function toFindingsBody(findings: readonly Finding[]): z.infer<typeof findingsBody> {
  const isWell = ({ remedy }: Finding) => Number(remedy === null)
  return { items: findings.toSorted((one, other) => isWell(one) - isWell(other)) }
}
