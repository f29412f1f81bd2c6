import { isDeepStrictEqual } from 'node:util'
import { assertWithinLimit } from '../../billing/limits/deployment-limits.ts'
import { requireActive } from './sleep.ts'
import { ApplicationError } from '../../../base/errors.ts'
import type { Services } from '../../../services.ts'
import type { Viewer } from '../../../base/viewer.ts'
import { recordAction } from '../../audit/record-action.ts'
import { updateOwnDeployment } from '../state/change-store.ts'
import { chooseLoras } from './choose-loras.ts'
import { claimNames, lockNames } from './claim-names.ts'
import { accessDeployment, requireAdmin } from '../state/access-deployment.ts'
import type { DeploymentReference } from '../state/access-deployment.ts'
import { requireAnswers } from '../../placement/choose-instance.ts'
import { queryRuntime } from '../../placement/query-runtime.ts'
import { listLiveInstances } from '../state/instance-store.ts'
import { chooseHardware, needsResize, settingsOf } from '../state/resize.ts'
import { describeTarget } from '../state/audit-target.ts'
import { usesEndpoint } from '../state/store.ts'
import type { Deployment } from '../state/store.ts'
import { pickSettings } from '../state/settings-change.ts'
import type { EngineSettings } from '../state/tables.ts'
import { requireAliasOfOrder, toChange } from './deployment-update.ts'
import type { ChangedColumns, DeploymentUpdate } from './deployment-update.ts'
import { refuseEngineSettings } from './require-endpoint.ts'
import { requireEngine } from './require-engine.ts'
import { requireManager } from './require-manager.ts'
import { requireSharees } from './require-sharees.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'log' | 'runtimes' | 'prices'>

/**
 * Changes what a deployment must be able to serve, its alias, its policy, and its sharing. One that doesn't
 * serve yet moves to hardware that is large enough; a running one starts another instance first. Throws
 * `forbidden` if a member sets options of the engine, `deployment_ended`, `no_feasible_instance`,
 * `alias_taken`, `adapter_not_supported` and `not_for_endpoints`.
 */
export async function changeDeployment(
  deps: Deps,
  viewer: Viewer,
  reference: DeploymentReference,
  update: DeploymentUpdate,
): Promise<Deployment> {
  for (;;) {
    const deployment = await accessDeployment(deps, viewer, 'change', reference)
    const { status } = deployment
    requireActive(deployment)
    const adapters =
      update.adapters === undefined ? undefined : await chooseLoras(deps, deployment, update.adapters)
    const change = toChange(deployment, { ...update, adapters })
    if (change === null) return deployment
    const { columns, asksForMore } = change
    if (usesEndpoint(deployment))
      refuseEngineSettings(deployment.model_name, pickChanged(deployment, columns))
    if (columns.engine_options !== undefined) await requireAdmin(deps, viewer, deployment)
    await requireEngine(deps, deployment, columns)
    const next = { ...deployment, ...columns }
    const [before, after] = [pickSettings(columns, deployment), pickSettings(columns, next)]
    const isLarger = asksForMore && (await needsInstance(deps, next))
    if (isLarger) await assertFeasible(deps, next)
    const isServed = asksForMore && !isLarger && status === 'running'
    const claimsNames = 'alias' in columns || 'shared_with' in columns || 'adapters' in columns
    const locksNames = claimsNames || 'alias_order' in columns
    const more = (columns.max_instances ?? 0) - deployment.max_instances
    const changed = await updateOwnDeployment(
      deps.db,
      {
        id: deployment.id,
        status,
        lock: locksNames ? (transaction) => lockNames(transaction, next) : undefined,
      },
      {
        ...columns,
        desired_instances: keepWithin(deployment.desired_instances, { ...deployment, ...columns }),
        // Other minimums may find hardware where the old ones didn't.
        ...(asksForMore ? { refusals: 0, refusal: null } : {}),
        ...(isServed ? { served_settings: toServed(next) } : {}),
      },
      { ...change.event, change: { user_id: viewer.userId, before, after } },
      deps.clock(),
      async (transaction, updated) => {
        const { organization_id: organizationId } = updated
        if ('shared_with' in columns) await requireSharees(transaction, updated)
        if (more > 0) await assertWithinLimit(transaction, deps, organizationId)
        // An admin may have moved the alias meanwhile.
        requireAliasOfOrder(updated)
        requireManager(updated)
        if (claimsNames) await claimNames(transaction, viewer, updated, deps.clock())
        const { target, details } = await describeTarget(transaction, viewer, deployment)
        await recordAction(transaction, viewer, 'deployment.updated', {
          target,
          organizationId,
          details: {
            ...details,
            ...after,
            before,
            ...('engine_options' in columns && {
              engine_options: { from: deployment.engine_options, to: columns.engine_options },
            }),
            ...('engine_version' in columns && {
              engine_version: { from: deployment.engine_version, to: columns.engine_version },
            }),
          },
        })
      },
    )
    if (changed !== undefined) return changed
  }
}

/** The columns that get another value. */
function pickChanged(deployment: Deployment, columns: ChangedColumns): ChangedColumns {
  const changed = Object.entries(columns).filter(
    ([name, value]) => !isDeepStrictEqual(value, deployment[name as keyof ChangedColumns]),
  )
  return Object.fromEntries(changed)
}

/** True if an instance has less than the owner asks for, or none has been chosen yet. */
async function needsInstance({ db }: Deps, deployment: Deployment): Promise<boolean> {
  const instances = (await listLiveInstances(db, [deployment.id])).get(deployment.id) ?? []
  return (
    instances.length === 0 ||
    instances.some((instance) => instance.instance_type === null || needsResize(deployment, instance))
  )
}

async function assertFeasible(deps: Deps, deployment: Deployment): Promise<void> {
  const result = await queryRuntime(deps, 'instance types', () => chooseHardware(deps, deployment, []))
  if (result.outcome === 'infeasible') {
    requireAnswers(result)
    throw new ApplicationError('no_feasible_instance', result.reason)
  }
}

/** Settings that the running instances meet, with the version that they have. */
function toServed(next: Deployment): EngineSettings {
  const engine_version = next.engine_version ?? next.served_settings?.engine_version ?? null
  return { ...settingsOf(next), engine_version }
}

/** The desired number of instances, within a policy. */
function keepWithin(
  desired: number,
  { min_instances: least, max_instances: most }: Pick<Deployment, 'min_instances' | 'max_instances'>,
): number {
  return Math.min(Math.max(desired, least), most)
}
