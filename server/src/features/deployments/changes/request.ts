import { v7 as uuidv7 } from 'uuid'
import type { Services } from '../../../services.ts'
import type { Viewer } from '../../../base/viewer.ts'
import { recordAction } from '../../audit/record-action.ts'
import { assertBudgetsAllow, readBlockingBudgets } from '../../billing/budgets/budget-limits.ts'
import { assertCanDeploy, readTrialUsage } from '../../billing/limits/deployment-limits.ts'
import type { VariantChoice } from '../../catalog/model.ts'
import { requireEngineOptions } from '../../catalog/engine-options.ts'
import { holdNames } from '../../catalog/hold-names.ts'
import { serializeVariant } from '../../catalog/stored-model.ts'
import { chooseDeployable } from '../../placement/plan.ts'
import type { Requirements } from '../../placement/choose-instance.ts'
import { holdMembership } from '../../organizations/memberships.ts'
import { describeTarget } from '../state/audit-target.ts'
import { explainSelection } from '../state/resize.ts'
import { insertDeployment, usesEndpoint } from '../state/store.ts'
import type { Deployment } from '../state/store.ts'
import { claimNames } from './claim-names.ts'
import { refuseEngineSettings, requireEndpoint } from './require-endpoint.ts'
import { requireAdmin } from '../state/access-deployment.ts'
import { requireManager } from './require-manager.ts'
import type { EngineOptions } from '../../../ports/model-variant.ts'

/** What a deployment has from the start besides its model and its hardware. */
interface NewSettings {
  alias?: string | null | undefined
  engineOptions?: EngineOptions | undefined
  managedBy?: string | null | undefined
  managedName?: string | null | undefined
}

/**
 * Creates a deployment if hardware, billing and budgets allow it. A worker provisions it later. Throws
 * `alias_taken` like a change.
 */
export async function requestDeployment(
  deps: Pick<Services, 'db' | 'clock' | 'config' | 'log' | 'prices' | 'runtimes'>,
  viewer: Viewer,
  input: { modelName: string } & VariantChoice,
  requirements: Requirements,
  { alias = null, engineOptions = {}, managedBy = null, managedName = null }: NewSettings = {},
): Promise<Deployment> {
  const { organizationId } = viewer
  requireManager({ managed_by: managedBy, managed_name: managedName })
  const id = uuidv7()
  if (Object.keys(engineOptions).length > 0) {
    await requireAdmin(deps, viewer, {
      id,
      organization_id: organizationId,
      alias,
      model_name: input.modelName,
    })
  }
  const { variant, reason, selection } = await chooseDeployable(deps, organizationId, input, requirements)
  const isOfEndpoint = usesEndpoint({ model_format: variant.format })
  if (isOfEndpoint) {
    refuseEngineSettings(variant.modelName, {
      ...(Object.keys(engineOptions).length > 0 && { engine_options: engineOptions }),
      ...(requirements.parallelSequences !== null && { min_parallel_sequences: null }),
    })
  }
  requireEngineOptions(variant, deps.runtimes.engines, engineOptions)
  const pricePerHour = selection?.offer.pricePerHour ?? null
  const trialUse = await readTrialUsage(deps, organizationId)
  const start = { organizationId, userId: viewer.userId, deploymentId: null, pricePerHour }
  const budgets = await readBlockingBudgets(deps, start)
  const at = deps.clock()
  return deps.db.transaction().execute(async (transaction) => {
    // In the order of all writers, names are locked before rows.
    if (alias !== null) await holdNames(transaction, organizationId)
    await holdMembership(transaction, viewer)
    await requireEndpoint(transaction, viewer, variant)
    await assertCanDeploy(transaction, deps, organizationId, trialUse)
    await assertBudgetsAllow(transaction, deps, budgets, start)
    const deployment = await insertDeployment(
      transaction,
      {
        id,
        user_id: viewer.userId,
        organization_id: organizationId,
        alias,
        model_name: variant.modelName,
        model_format: variant.format,
        model_size_in_billions: variant.sizeInBillions,
        quantization: variant.quantization,
        inference_model_uid: `dep-${id}`,
        variant: serializeVariant(variant),
        variant_reason: reason,
        planned_price_per_hour: pricePerHour,
        planned_instance_type: selection?.offer.instanceType ?? null,
        planned_reason: selection === null ? null : explainSelection(reason, selection),
        min_context_tokens: requirements.contextTokens,
        min_parallel_sequences: requirements.parallelSequences,
        requested_instance_type: requirements.instanceType,
        engine_options: JSON.stringify(engineOptions),
        managed_by: managedBy,
        managed_name: managedName,
        idle_minutes: isOfEndpoint ? null : deps.config.defaultIdleMinutes,
        status: 'requested',
        created_at: at,
        updated_at: at,
        status_changed_at: at,
      },
      `Requested by ${viewer.name}.`,
    )
    await claimNames(transaction, viewer, deployment, at)
    const { target, details } = await describeTarget(transaction, viewer, deployment)
    const options = Object.keys(engineOptions).length === 0 ? {} : { engine_options: engineOptions }
    const management = {
      ...(managedBy !== null && { managed_by: managedBy }),
      ...(managedName !== null && { managed_name: managedName }),
    }
    await recordAction(transaction, viewer, 'deployment.created', {
      target,
      details: { ...details, ...options, ...management },
    })
    return deployment
  })
}
