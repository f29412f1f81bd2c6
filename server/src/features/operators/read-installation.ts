import { sql } from 'kysely'
import { NotFoundError } from '../../base/errors.ts'
import type { Viewer } from '../../base/viewer.ts'
import type { Database } from '../../database/tables.ts'
import type { GpuMemory } from '../../ports/host-engines.ts'
import type { ClusterMachine } from '../../ports/own-cluster.ts'
import type { CachedWeights, ModelRuntimes, RuntimeOffer } from '../../ports/model-runtime.ts'
import type { Services } from '../../services.ts'
import { recordAction } from '../audit/record-action.ts'
import { queryRuntime } from '../placement/query-runtime.ts'

/** An instance that has hardware, or waits for it. */
export interface PlacedInstance {
  id: string
  deploymentId: string
  organizationId: number
  organizationName: string
  modelName: string
  status: string
  runtime: string | null
  instanceType: string | null
  gpuCount: number | null
  memoryBytes: number | null
  since: Date
}

/** An instance that waits for hardware. */
export interface WaitingInstance extends PlacedInstance {
  reason: string | null
}

/** A machine of a cluster, and what runs there. */
export interface Machine extends ClusterMachine {
  runtime: string
  instances: PlacedInstance[]
}

/** The hardware of the installation, as far as its runtimes tell. */
export interface Machines {
  runtimes: string[]
  machines: Machine[]
  gpus: { name: string; memory: GpuMemory | null; obstacle: string | null }[]
  engines: readonly { title: string; version: string | null; isUsed: boolean; reason: string | null }[]
  instanceTypes: (RuntimeOffer & { promisedBytes: number })[]
  instances: PlacedInstance[]
}

/** Bounds each list that has no pages. */
const mostRows = 1000

export async function readMachines({
  db,
  log,
  runtimes,
}: Pick<Services, 'db' | 'log' | 'runtimes'>): Promise<Machines> {
  const instances = await listPlaced(db)
  const [{ offers }, report] = await queryRuntime({ log }, 'instance types', () =>
    Promise.all([runtimes.listOffers(), runtimes.hostEngines?.report()]),
  )
  return {
    runtimes: runtimes.all.map(({ name }) => name),
    machines: await listMachines(runtimes, instances),
    gpus: (report?.gpus ?? []).map(({ name, memory, obstacle }) => ({
      name,
      memory,
      obstacle: obstacle === null ? null : `${obstacle.reason} ${obstacle.remedy}`,
    })),
    engines: report?.engines ?? listEngines(runtimes),
    instanceTypes: offers.map((offer) => ({ ...offer, promisedBytes: sumMemory(instances, offer) })),
    instances,
  }
}

/** The machines of the runtimes that know theirs. */
async function listMachines(
  { all }: ModelRuntimes,
  instances: readonly PlacedInstance[],
): Promise<Machine[]> {
  const lists = await Promise.all(
    all.map(async (runtime) =>
      ((await runtime.listMachines?.()) ?? []).map((machine) => {
        const here = instances.filter(({ id }) => machine.engineIds.includes(id))
        return { ...machine, runtime: runtime.name, instances: here }
      }),
    ),
  )
  return lists.flat()
}

function listEngines({ engines }: ModelRuntimes) {
  return engines.map(({ title }) => ({ title, version: null, isUsed: true, reason: null }))
}

function sumMemory(
  instances: readonly PlacedInstance[],
  { instanceType, runtime }: Pick<RuntimeOffer, 'instanceType' | 'runtime'>,
): number {
  return instances
    .filter((instance) => instance.instanceType === instanceType && instance.runtime === runtime.name)
    .reduce((sum, { memoryBytes }) => sum + (memoryBytes ?? 0), 0)
}

function selectInstances(db: Database) {
  return db
    .selectFrom('instances')
    .innerJoin('deployments', 'deployments.id', 'instances.deployment_id')
    .innerJoin('organizations', 'organizations.id', 'deployments.organization_id')
    .select(['instances.id', 'deployments.id as deploymentId', 'deployments.model_name as modelName'])
    .select(['organizations.id as organizationId', 'organizations.name as organizationName'])
    .select(['instances.status', 'instances.runtime', 'instances.instance_type as instanceType'])
    .select(['instances.gpu_count as gpuCount', 'instances.memory_bytes as memoryBytes'])
    .limit(mostRows)
}

async function listPlaced(db: Database): Promise<PlacedInstance[]> {
  return selectInstances(db)
    .select(sql<Date>`instances.started_at`.as('since'))
    .where('instances.started_at', 'is not', null)
    .where('instances.status', '!=', 'released')
    .orderBy('instances.started_at')
    .execute()
}

/** The instances that have hardware of a runtime. */
export async function listPlacedOn({ db }: Pick<Services, 'db'>, runtime: string): Promise<PlacedInstance[]> {
  return (await listPlaced(db)).filter((instance) => instance.runtime === runtime)
}

/** The instances that wait for hardware, the longest waiting first. */
export async function listWaiting({ db }: Pick<Services, 'db'>): Promise<WaitingInstance[]> {
  return selectInstances(db)
    .select(sql<Date>`coalesce(hardware_asked_at, instances.status_changed_at)`.as('since'))
    .select(
      sql<
        string | null
      >`coalesce(instances.status_message, deployments.status_message, deployments.refusal ->> 'message')`.as(
        'reason',
      ),
    )
    .where('instances.status', 'in', ['requested', 'provisioning'])
    .orderBy('since')
    .execute()
}

/** The weights on the host of the server; null where they are on machines of the runtime. */
export async function readWeights({ runtimes }: Pick<Services, 'runtimes'>): Promise<{
  items: CachedWeights[]
  bytes: number
  limitBytes: number
} | null> {
  const { weightCache } = runtimes
  if (weightCache === undefined) return null
  const [items, size] = await Promise.all([weightCache.list(), weightCache.measure()])
  return { items: items.toReversed(), ...size }
}

/** An organization in numbers. */
export interface OrganizationFacts {
  id: number
  name: string
  status: string
  members: number
  running: number
  /** A decimal string in the currency's main unit: what the calendar month has cost so far, in UTC */
  cost: string
}

function selectOrganizations(db: Database, currency: string, monthStart: Date) {
  return db
    .selectFrom('organizations')
    .select(['organizations.id', 'organizations.name', 'organizations.status'])
    .select((select) =>
      select
        .selectFrom('memberships')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .whereRef('memberships.organization_id', '=', 'organizations.id')
        .$asScalar()
        .$notNull()
        .as('members'),
    )
    .select((select) =>
      select
        .selectFrom('deployments')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .whereRef('deployments.organization_id', '=', 'organizations.id')
        .where('deployments.status', '=', 'running')
        .$asScalar()
        .$notNull()
        .as('running'),
    )
    .select(
      sql<string>`(SELECT coalesce(sum(quantity * unit_amount), 0)::text FROM usage_buckets
        WHERE usage_buckets.organization_id = organizations.id AND hour >= ${monthStart} AND currency = ${currency})`.as(
        'cost',
      ),
    )
}

type OrganizationDeps = Pick<Services, 'db' | 'clock' | 'config'>

/** All organizations that are not closed, by name, from `offset` on. */
export async function listOrganizationFacts(
  { db, clock, config }: OrganizationDeps,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ items: OrganizationFacts[]; total: number }> {
  const open = selectOrganizations(db, config.billing.currency, startOfMonth(clock()))
    .where('organizations.status', '!=', 'closed')
    .orderBy('organizations.name')
    .orderBy('organizations.id')
  const [items, { total }] = await Promise.all([
    open.limit(limit).offset(offset).execute(),
    db
      .selectFrom('organizations')
      .select(({ fn }) => fn.countAll<number>().as('total'))
      .where('status', '!=', 'closed')
      .executeTakeFirstOrThrow(),
  ])
  return { items, total }
}

/** An organization with its deployments. The organization's audit log says who read them. */
export async function readOrganization(
  { db, clock, config }: OrganizationDeps,
  viewer: Viewer,
  id: number,
): Promise<OrganizationFacts & { deployments: (PlacedInstance | WaitingInstance)[] }> {
  const facts = await selectOrganizations(db, config.billing.currency, startOfMonth(clock()))
    .where('organizations.id', '=', id)
    .executeTakeFirst()
  if (facts === undefined) throw new NotFoundError('No organization has this id.')
  const target = { type: 'organization', id, name: facts.name } as const
  await recordAction(db, viewer, 'organization.seen_by_operator', { organizationId: id, target })
  const deployments = await selectInstances(db)
    .select(sql<Date>`coalesce(instances.started_at, instances.created_at)`.as('since'))
    .where('organizations.id', '=', id)
    .where('instances.status', '!=', 'released')
    .orderBy('since')
    .execute()
  return { ...facts, deployments }
}

function startOfMonth(now: Date): Date {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth()))
}
