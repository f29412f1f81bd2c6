import { useQuery } from '@tanstack/react-query'
import type { NewBudgetInput } from '../../../contract.ts'
import { organizationDeploymentsQuery } from '../../../domain/deployments/queries.ts'
import { membersQuery } from '../../../domain/members/queries.ts'
import { findIdSuffixes } from '../../../domain/models/variant-names.ts'
import { text } from '../../../text/index.ts'
import { budgetsQuery } from './queries.ts'

export type BudgetScope = NewBudgetInput['scope']

interface Option {
  id: number | string
  label: string
}

/** What a new budget can be for. */
export interface ScopeChoices {
  scopes: BudgetScope[]
  options: { member: Option[]; deployment: Option[] }
}

/** Whatever has no budget yet: the organization, members and deployments. */
export function useScopeChoices(): ScopeChoices {
  const { data: budgets = [] } = useQuery(budgetsQuery)
  const { data: members = [] } = useQuery(membersQuery)
  const { data: deployments } = useQuery(organizationDeploymentsQuery)
  const items = deployments?.items ?? []
  const suffixes = findIdSuffixes(items)
  const taken = new Set(budgets.map(({ scope_id: id }) => id))
  const isFree = ({ id }: Option) => !taken.has(id)
  const options = {
    member: members
      .map(({ user_id: id, name, email }) => ({ id, label: `${name} (${email})` }))
      .filter(isFree),
    deployment: items
      .map(({ id, model_name: model, owner }) => ({
        id,
        label: text.budgets.ofOwner(
          [model, suffixes.get(id)].filter(Boolean).join(' '),
          owner.name || owner.email,
        ),
      }))
      .filter(isFree),
  }
  const hasOrganization = taken.has(null)
  const scopes = (['organization', 'member', 'deployment'] as const).filter((scope) =>
    scope === 'organization' ? !hasOrganization : options[scope].length > 0,
  )
  return { scopes, options }
}
