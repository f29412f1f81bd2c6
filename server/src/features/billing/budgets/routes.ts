import type { App } from '../../../http/app.ts'
import { joinResponse } from '../../../http/creation.ts'
import { noContent } from '../../../http/openapi/responses.ts'
import type { Services } from '../../../services.ts'
import {
  changeBudget,
  createBudget,
  listBudgetStandings,
  listOwnBudgetStandings,
  removeBudget,
} from './manage-budgets.ts'
import {
  budgetBody,
  budgetParams,
  budgetsBody,
  updateBudgetBody,
  createBudgetBody,
  toBudgetBody,
  toBudgetTerms,
} from './schemas.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'prices'>

const tags = ['Billing']
const manage = { permission: 'manageBilling' } as const
const prefix = '/v1/billing/budgets'

/** The budgets of an organization, its teams, its members and its deployments. */
export function budgetRoutes(app: App, deps: Deps): void {
  app.get(
    prefix,
    {
      config: manage,
      schema: {
        operationId: 'listBudgets',
        summary: 'List the budgets of your current organization, oldest first',
        tags,
        response: { 200: budgetsBody },
      },
    },
    async ({ viewer }) => {
      const standings = await listBudgetStandings(deps, viewer)
      return standings.map((standing) => toBudgetBody(standing, deps.config.billing.currency))
    },
  )

  app.get(
    '/v1/billing/own-budgets',
    {
      config: { permission: 'readUsage' },
      schema: {
        operationId: 'listOwnBudgets',
        summary: 'List the budgets that limit you, oldest first',
        description:
          'Those of your current organization, of yourself, of your teams and of the deployments that you own.',
        tags,
        response: { 200: budgetsBody },
      },
    },
    async ({ viewer }) => {
      const standings = await listOwnBudgetStandings(deps, viewer)
      return standings.map((standing) => toBudgetBody(standing, deps.config.billing.currency))
    },
  )

  app.post(
    prefix,
    {
      config: { ...manage, creates: 'atomically' },
      schema: {
        operationId: 'createBudget',
        summary: 'Limit what your current organization, a team, a member or a deployment may cost',
        description:
          'Emails the admins, and the member or the team whose budget it is, at 50, 80 and 100 percent of the limit, once in each billing period. ' +
          'With `block`, what would pass the limit within one minute is not started. The budget of a member counts their deployments, ' +
          'and what their requests cost at those of others; unless it only notifies, these get `insufficient_quota` at the limit. ' +
          'That of a team does the same for its members, and counts what `GET /v1/billing/usage?group_by=team` has for it.',
        tags,
        body: createBudgetBody,
        response: { 200: budgetBody },
        errors: ['budget_exists'],
      },
    },
    async (request) => {
      const { scope, scope_id: scopeId = null, monthly_limit: monthlyLimit, at_limit: atLimit } = request.body
      const terms = { monthlyLimit, atLimit }
      const { managed_by: managedBy = null } = request.body
      const joined = joinResponse(deps, request)
      const standing = await createBudget(joined, request.viewer, { scope, scopeId }, terms, managedBy)
      return toBudgetBody(standing, deps.config.billing.currency)
    },
  )

  app.patch(
    `${prefix}/:budget_id`,
    {
      config: manage,
      schema: {
        operationId: 'updateBudget',
        summary: 'Update the limit of a budget, or what happens at it',
        description: 'A higher limit takes effect at once. Alerts of the same period are not repeated.',
        tags,
        params: budgetParams,
        body: updateBudgetBody,
        response: { 200: budgetBody },
        errors: ['not_found'],
      },
    },
    async ({ body, params, viewer }) => {
      const standing = await changeBudget(deps, viewer, params.budget_id, toBudgetTerms(body))
      return toBudgetBody(standing, deps.config.billing.currency)
    },
  )

  app.delete(
    `${prefix}/:budget_id`,
    {
      config: manage,
      schema: {
        operationId: 'deleteBudget',
        summary: 'Delete a budget',
        tags,
        params: budgetParams,
        response: { 204: noContent },
        errors: ['not_found'],
      },
    },
    async ({ params, viewer }, reply) => {
      await removeBudget(deps, viewer, params.budget_id)
      return reply.code(204).send(null)
    },
  )
}
