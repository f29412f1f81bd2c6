import { checkBudgets } from '../../src/features/billing/budgets/check-budgets.ts'
import { settleOrganization } from '../../src/features/metering/settle.ts'
import { requestDeployment } from '../../src/features/deployments/changes/request.ts'
import { ApplicationError } from '../../src/base/errors.ts'
import type { Viewer } from '../../src/base/viewer.ts'
import { noRequirements } from '../../src/features/placement/choose-instance.ts'
import type { BillingStep } from './billing-steps.ts'

/** Steps around a budget that may be killed at any point. */
export const steps = {
  async check(application) {
    await checkBudgets(application)
  },

  /** Creates a deployment unless a budget blocks it */
  async start(application, organization) {
    const viewer = { ...organization, name: 'Ada' } as unknown as Viewer
    try {
      await requestDeployment(application, viewer, { modelName: 'berth-tiny' }, noRequirements)
    } catch (error) {
      if (!(error instanceof ApplicationError && error.code === 'budget_exhausted')) throw error
    }
  },

  /** Writes the buckets and seals hours */
  settle: (application, { organizationId }) => settleOrganization(application, organizationId),
} satisfies Record<string, BillingStep>
