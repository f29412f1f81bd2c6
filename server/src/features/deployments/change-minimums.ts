import { ApplicationError } from '../../base/errors.ts'
import type { Services } from '../../services.ts'
import type { Viewer } from '../../base/viewer.ts'
import { recordAction } from '../audit/record-action.ts'
import { updateOwnDeployment } from './change-store.ts'
import { parseStoredVariant } from '../catalog/stored-model.ts'
import { chooseInstance } from '../placement/choose-instance.ts'
import { accessDeployment } from './access-deployment.ts'
import { queryRuntime } from '../placement/query-runtime.ts'
import { needsResize, toMinimums } from './resize.ts'
import type { CapacityMinimums } from '../placement/serving-capacity.ts'
import type { Deployment } from './store.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'log' | 'runtime' | 'prices'>

/**
 * Changes what a deployment must be able to serve; omitted fields stay. A deployment that doesn't serve yet moves to an instance that
 * is large enough, a running one when its engine starts next. Throws `deployment_ended` and `no_feasible_instance`.
 */
export async function changeMinimums(
  deps: Deps,
  viewer: Viewer,
  id: string,
  changes: { [Name in keyof CapacityMinimums]?: CapacityMinimums[Name] | undefined },
): Promise<Deployment> {
  for (;;) {
    const deployment = await accessDeployment(deps, viewer, 'change', id)
    const { status } = deployment
    if (status === 'failed' || status === 'terminating' || status === 'terminated') {
      const message = `This deployment is ${status}. Only deployments that run or are about to run can be changed.`
      throw new ApplicationError('deployment_ended', message)
    }
    const current = toMinimums(deployment)
    const minimums = {
      contextTokens: changes.contextTokens === undefined ? current.contextTokens : changes.contextTokens,
      parallelSequences:
        changes.parallelSequences === undefined ? current.parallelSequences : changes.parallelSequences,
    }
    const isSame =
      minimums.contextTokens === current.contextTokens &&
      minimums.parallelSequences === current.parallelSequences
    if (isSame) return deployment
    const columns = {
      min_context_tokens: minimums.contextTokens,
      min_parallel_sequences: minimums.parallelSequences,
    }
    const isUnmet = needsResize({ ...deployment, ...columns })
    if (isUnmet || status === 'requested') await assertFeasible(deps, deployment, minimums)
    const event = { stage: 'instance_selection', message: describeChange(minimums) }
    const changed = await updateOwnDeployment(
      deps.db,
      { id: deployment.id, status },
      columns,
      event,
      deps.clock(),
      async (transaction, { model_name: name, organization_id: organizationId }) => {
        const target = { type: 'deployment', id: deployment.id, name } as const
        await recordAction(transaction, viewer, 'deployment.changed', {
          target,
          organizationId,
          details: columns,
        })
      },
    )
    if (changed !== undefined) return changed
  }
}

async function assertFeasible(deps: Deps, deployment: Deployment, minimums: CapacityMinimums): Promise<void> {
  const variant = parseStoredVariant(deployment)
  const result = await queryRuntime(deps, 'instance types', () => chooseInstance(deps, variant, minimums, []))
  if (result.outcome === 'infeasible') {
    throw new ApplicationError('no_feasible_instance', result.reason)
  }
}

function describeChange({ contextTokens, parallelSequences }: CapacityMinimums): string {
  const wishes = [
    ...(contextTokens === null ? [] : [`a context of ${contextTokens} tokens`]),
    ...(parallelSequences === null ? [] : [`${parallelSequences} parallel sequences`]),
  ]
  return wishes.length === 0
    ? 'The owner asks for no minimum capacity anymore.'
    : `The owner asks for at least ${wishes.join(' and ')}.`
}
