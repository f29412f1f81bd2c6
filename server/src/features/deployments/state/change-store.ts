import { sql } from 'kysely'
import type { Database, DatabaseTransaction } from '../../../database/tables.ts'
import { changeSpans } from '../../metering/spans.ts'
import type { SpanChange } from '../../metering/spans.ts'
import type { EventTransition } from './event-transition.ts'
import type { Instance } from './instance-store.ts'
import type { DeploymentStatus, DesiredState } from './lifecycle.ts'
import type { SettingsChange } from './settings-change.ts'
import type { Deployment } from './store.ts'

/** Columns that change; those that are undefined stay. */
type Columns<Row, Fixed extends keyof Row> = { [Name in Exclude<keyof Row, Fixed>]?: Row[Name] | undefined }

/** Columns of a deployment: all except the lease and times that follow */
export type DeploymentChanges = Columns<
  Deployment,
  'id' | 'updated_at' | 'status_changed_at' | 'leased_by' | 'leased_until' | 'lease_number'
>
type InstanceChanges = Columns<Instance, 'id' | 'deployment_id' | 'created_at'>

/** What a change of a deployment does to one of its instances in the same statement. */
export type InstanceWrite =
  | { kind: 'start'; row: Instance }
  | { kind: 'change'; id: string; columns: InstanceChanges }

/** A new event in the deployment's history. */
export interface EventContent {
  stage: string | null
  message: string
  /** The transition that starts or ends here. It may take the place of `message` (`describeEvent`). */
  transition?: EventTransition
  /** The settings that a person changed */
  change?: SettingsChange
  /** The instance type that was chosen */
  instanceType?: string
  /** Omits the event if the last one has the same stage and is so young. */
  quietSeconds?: number
}

/** Further writes in the same transaction, run only if the deployment was updated. */
export type TransactionHook = (transaction: DatabaseTransaction, changed: Deployment) => Promise<void>

/** The right to change a deployment and its instances. `number` is a fencing token: old ones can't write. */
export interface Lease {
  deploymentId: string
  number: number
}

/** A guarded change of a deployment and one of its instances. */
export interface DeploymentChange {
  id: string
  /** The required current status */
  status: DeploymentStatus
  /** The required current number of desired instances, if it matters */
  desired_instances?: number | undefined
  /** The required current desired state, if it matters: the status stays while a deployment falls asleep */
  desired_state?: DesiredState | undefined
  /** null for a change by people, which notifies the workers; a lease holder continues by itself. */
  lease: Lease | null
  changes: DeploymentChanges
  instance?: InstanceWrite | undefined
  /** `now`: due immediately if its worker stops after this change. `never`: nothing is left to do. */
  due: 'now' | 'never' | 'unchanged'
  event: EventContent | null
  at: Date
  spans?: readonly SpanChange[] | undefined
  /** Takes locks before the rows of the changes are locked */
  lock?: ((transaction: DatabaseTransaction) => Promise<void>) | undefined
  hook?: TransactionHook | undefined
}

/**
 * Changes deployments, each with one instance, and records events, in one transaction. A result is undefined
 * if the deployment has left `status` or the lease is outdated.
 */
export async function changeDeployments(
  db: Database,
  changes: readonly DeploymentChange[],
): Promise<(Deployment | undefined)[]> {
  if (!changes.some(({ spans, lock, hook }) => (spans ?? lock ?? hook) !== undefined)) {
    return writeChanges(db, changes)
  }
  return db.transaction().execute(async (transaction) => {
    for (const { lock } of changes) await lock?.(transaction)
    const changed = await writeChanges(transaction, changes)
    const made = changes.filter((_, index) => changed[index] !== undefined)
    await changeSpans(
      transaction,
      made.flatMap(({ spans }) => spans ?? []),
    )
    for (const [index, { hook }] of changes.entries()) {
      if (changed[index] !== undefined) await hook?.(transaction, changed[index])
    }
    return changed
  })
}

/** Updates a deployment for a person and notifies the workers. Undefined if it is not as in `current`. */
export async function updateOwnDeployment(
  db: Database,
  current: Pick<DeploymentChange, 'id' | 'status' | 'desired_instances' | 'desired_state' | 'lock'>,
  changes: DeploymentChanges,
  event: EventContent | null,
  at: Date,
  hook?: TransactionHook,
): Promise<Deployment | undefined> {
  const [changed] = await changeDeployments(db, [
    { ...current, lease: null, changes, due: 'now', event, at, hook },
  ])
  return changed
}

/** Updates the rows, inserts the events and sends the notifications in one statement, to save round trips. */
async function writeChanges(
  db: Database,
  changes: readonly DeploymentChange[],
): Promise<(Deployment | undefined)[]> {
  const guards = sql`deployments.id = change.id AND deployments.status = change.status
    AND deployments.lease_number = coalesce(change.lease_number, deployments.lease_number)
    AND deployments.desired_instances = coalesce(change.desired_instances, deployments.desired_instances)
    AND deployments.desired_state = coalesce(change.desired_state, deployments.desired_state)`
  const deploymentColumns = listColumns(changes.map((change) => change.changes))
  const instanceColumns = listColumns(
    changes.map(({ instance }) => (instance?.kind === 'change' ? instance.columns : {})),
  )
  // All writers of several deployments lock them in the order of ids, so no two wait for each other.
  const { rows } = await sql<
    Deployment & Record<'event_notified' | 'due_notified' | 'change_notified', unknown> & { position: number }
  >`
    WITH change AS MATERIALIZED (
      SELECT * FROM jsonb_to_recordset(${toJson(changes.map(toRecord))}::jsonb) AS change (position integer, id uuid,
        status text, lease_number bigint, desired_instances integer, desired_state text, columns jsonb, due text, at timestamptz,
        instance_id uuid, instance_columns jsonb, new_instance jsonb, event jsonb, notifies boolean)
    ), locked AS MATERIALIZED (
      SELECT deployments.id FROM deployments JOIN change ON ${guards} ORDER BY deployments.id FOR NO KEY UPDATE OF deployments
    ), changed AS (
      UPDATE deployments SET ${assign(deploymentColumns, sql`deployments, change.columns`)},
        reconcile_at = CASE change.due WHEN 'now' THEN now() WHEN 'never' THEN NULL ELSE reconcile_at END,
        status_changed_at = CASE WHEN change.columns ->> 'status' <> deployments.status THEN change.at ELSE status_changed_at END
      FROM change JOIN locked ON locked.id = change.id WHERE ${guards}
      RETURNING change.position, deployments.*
    ), instance AS (
      UPDATE instances SET ${assign(instanceColumns, sql`instances, change.instance_columns`)}
      FROM change JOIN changed USING (position) WHERE instances.id = change.instance_id
    ), started AS (
      INSERT INTO instances SELECT new_row.* FROM change JOIN changed USING (position),
        jsonb_populate_record(NULL::instances, change.new_instance) AS new_row WHERE change.new_instance IS NOT NULL
    ), event AS (
      INSERT INTO deployment_events (deployment_id, at, status, stage, message, instance_type, transition, change)
      SELECT changed.id, change.at, changed.status, event ->> 'stage', event ->> 'message', event ->> 'instanceType',
        event -> 'transition', event -> 'change'
      FROM change JOIN changed USING (position)
        LEFT JOIN LATERAL (
          SELECT stage, deployment_events.at FROM deployment_events WHERE deployment_id = changed.id ORDER BY id DESC LIMIT 1
        ) AS last ON event ? 'quietSeconds'
      WHERE jsonb_typeof(event) = 'object' AND (last.stage = event ->> 'stage'
        AND last.at >= change.at - make_interval(secs => (event ->> 'quietSeconds')::float8)) IS NOT TRUE
      RETURNING deployment_id
    )
    SELECT changed.*,
      CASE WHEN event.deployment_id IS NOT NULL THEN pg_notify('deployment_event', changed.id::text) END AS event_notified,
      CASE WHEN change.notifies THEN pg_notify('deployment_due', changed.id::text) END AS due_notified,
      CASE WHEN event.deployment_id IS NOT NULL AND jsonb_typeof(change.event -> 'change') = 'object'
        THEN pg_notify('deployment_changed', changed.user_id::text) END AS change_notified
    FROM changed JOIN change USING (position) LEFT JOIN event ON event.deployment_id = changed.id`.execute(db)
  const changed = new Map<number, Deployment>()
  for (const { position, event_notified: _, due_notified: __, change_notified: ___, ...row } of rows) {
    changed.set(position, row)
  }
  return changes.map((_, position) => changed.get(position))
}

function toRecord(change: DeploymentChange, position: number) {
  const { id, status, lease, due, event, at, instance } = change
  return {
    position,
    id,
    status,
    lease_number: lease?.number ?? null,
    desired_instances: change.desired_instances ?? null,
    desired_state: change.desired_state ?? null,
    columns: { ...change.changes, updated_at: at },
    due,
    at,
    instance_id: instance?.kind === 'change' ? instance.id : null,
    instance_columns: instance?.kind === 'change' ? instance.columns : null,
    new_instance: instance?.kind === 'start' ? instance.row : null,
    event,
    notifies: lease === null,
  }
}

/** The columns that any of the changes names, which must be one or more */
function listColumns(changes: readonly object[]): string[] {
  return [...new Set(['updated_at', ...changes.flatMap((change) => Object.keys(change))])]
}

/** Assigns to columns what a JSON object has of them. The others keep their values. */
function assign(columns: readonly string[], rowAndObject: ReturnType<typeof sql>) {
  const names = sql.join(columns.map((column) => sql.ref(column)))
  return sql`(${names}) = (SELECT ${names} FROM jsonb_populate_record(${rowAndObject}))`
}

/** Text of engines may have half a character, which JSON of PostgreSQL refuses. */
function toJson(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) => (typeof each === 'string' ? each.toWellFormed() : each))
}
