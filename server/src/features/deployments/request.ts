import { v7 as uuidv7 } from 'uuid'
import { ApplicationError } from '../../errors.ts'
import type { ModelVariant } from '../../ports/model-runtime.ts'
import type { Services } from '../../services.ts'
import type { Viewer } from '../../viewer.ts'
import { recordAction } from '../audit/record-action.ts'
import { assertCanDeploy, readTrialUsage } from '../billing/deployment-limits.ts'
import type { VariantChoice } from '../catalog/catalog-file.ts'
import { findDeployableVariant } from '../catalog/find-variant.ts'
import { holdMembership } from '../organizations/memberships.ts'
import type { Price } from '../metering/prices.ts'
import { insertDeployment } from './store.ts'
import type { Deployment } from './store.ts'

/** Creates a deployment if billing allows it. A worker provisions it in the background. */
export async function requestDeployment(
  deps: Pick<Services, 'db' | 'clock' | 'config'> & { prices: readonly Price[] },
  viewer: Viewer,
  input: { modelName: string } & VariantChoice,
): Promise<Deployment> {
  const variant = await findRequestedVariant(deps, input)
  const { organizationId } = viewer
  const trialUse = await readTrialUsage(deps, organizationId)
  const id = uuidv7()
  const at = deps.clock()
  return deps.db.transaction().execute(async (transaction) => {
    await holdMembership(transaction, viewer)
    await assertCanDeploy(transaction, deps, organizationId, trialUse)
    const target = { type: 'deployment', id, name: variant.modelName } as const
    await recordAction(transaction, viewer, 'deployment.created', { target })
    return insertDeployment(
      transaction,
      {
        id,
        user_id: viewer.userId,
        organization_id: organizationId,
        model_name: variant.modelName,
        model_format: variant.format,
        model_size_in_billions: variant.sizeInBillions,
        quantization: variant.quantization,
        inference_model_uid: `dep-${id}`,
        variant: JSON.stringify(variant),
        status: 'requested',
        created_at: at,
        updated_at: at,
        status_changed_at: at,
      },
      `Requested by ${viewer.name}.`,
    )
  })
}

/** Resolves a request to a catalog variant. Throws `model_not_deployable` if none matches. */
export async function findRequestedVariant(
  deps: Pick<Services, 'db'>,
  { modelName, ...choice }: { modelName: string } & VariantChoice,
): Promise<ModelVariant> {
  const variant = await findDeployableVariant(deps, modelName, choice)
  if (variant === null) {
    throw new ApplicationError(
      'invalid',
      'model_not_deployable',
      'The catalog does not offer this model in the requested format, size and quantization. Choose one of its variants.',
    )
  }
  return variant
}
