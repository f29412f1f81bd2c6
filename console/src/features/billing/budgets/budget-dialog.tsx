import { useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { useSession } from '../../../api/session.ts'
import type { Budget, NewBudgetInput } from '../../../contract.ts'
import { Button } from '../../../components/button.tsx'
import { Dialog } from '../../../components/dialog.tsx'
import { SelectField, TextField } from '../../../components/field.tsx'
import { fieldErrors, Form } from '../../../components/form.tsx'
import { useToasts } from '../../../components/toast.tsx'
import { billingAccountQuery } from '../../../domain/billing/queries.ts'
import { useBudgetWords } from '../../../domain/budgets/use-budget-words.ts'
import { findIdSuffixes, nameDeployment } from '../../../domain/deployments/names.ts'
import { organizationDeploymentsQuery } from '../../../domain/deployments/queries.ts'
import { useMailIsFile } from '../../../domain/installation.ts'
import { membersQuery } from '../../../domain/members/queries.ts'
import { teamsQuery } from '../../../domain/teams/queries.ts'
import { text } from '../../../text/index.ts'
import { useUpdateBudget, useCreateBudget, budgetsQuery } from './queries.ts'

type LimitAction = NewBudgetInput['at_limit']
type Fields = 'scope' | 'scope_id' | 'monthly_limit' | 'at_limit'

const limitActions: readonly LimitAction[] = ['notify', 'block', 'sleep']

/** Adds a budget, or edits one. Says what happens at the limit before it is saved. */
export function BudgetDialog({ budget, onClose }: { budget: Budget | null; onClose: () => void }) {
  const formId = useId()
  const describe = useBudgetWords()
  const choices = useScopeChoices()
  const create = useCreateBudget()
  const change = useUpdateBudget(budget?.id ?? 0)
  const toasts = useToasts()
  const { data: account } = useQuery(billingAccountQuery)
  const [chosen, setChosen] = useState<BudgetScope>()
  const scope = budget?.scope ?? chosen ?? choices.scopes[0] ?? 'organization'
  const { error, isPending } = budget ? change : create
  const finish = (message: string) => () => {
    toasts.success(message)
    onClose()
  }
  const submit = ({ scope_id: scopeId, monthly_limit: limit, at_limit }: Record<Fields, string>) => {
    const terms = { monthly_limit: limit.trim(), at_limit: at_limit as LimitAction }
    if (budget) {
      change.mutate(terms, { onSuccess: finish(text.budgets.saved) })
      return
    }
    const id = scope === 'deployment' ? scopeId : Number(scopeId)
    const target = scope === 'organization' ? { scope } : { scope, scope_id: id }
    create.mutate({ ...target, ...terms }, { onSuccess: finish(text.budgets.created) })
  }
  return (
    <Dialog
      onClose={onClose}
      title={budget ? text.budgets.editTitle(describe(budget).name) : text.budgets.createTitle}
      description={useMailIsFile() ? text.budgets.noEmails : text.budgets.emails}
      actions={
        <>
          <Button onClick={onClose}>{text.common.cancel}</Button>
          <Button type="submit" form={formId} variant="primary" busy={isPending}>
            {budget ? text.budgets.save : text.budgets.create}
          </Button>
        </>
      }
    >
      <Form<Fields> id={formId} error={error} onSubmit={submit}>
        {budget === null && (
          <ScopeFields
            scope={scope}
            choices={choices}
            onChange={setChosen}
            error={fieldErrors(error).scope_id}
          />
        )}
        <TextField
          label={text.budgets.limit(budget?.currency ?? account?.currency ?? '')}
          name="monthly_limit"
          inputMode="decimal"
          autoComplete="off"
          required
          defaultValue={budget?.monthly_limit}
          error={fieldErrors(error).monthly_limit}
        />
        <LimitActionField budget={budget} scope={scope} />
      </Form>
    </Dialog>
  )
}

type BudgetScope = NewBudgetInput['scope']

interface Option {
  id: number | string
  label: string
}

/** What a new budget can be for. */
interface ScopeChoices {
  scopes: BudgetScope[]
  options: { team: Option[]; member: Option[]; deployment: Option[] }
}

/** Whatever has no budget yet: the organization, teams, members and deployments. */
function useScopeChoices(): ScopeChoices {
  const { data: budgets = [] } = useQuery(budgetsQuery)
  const { data: teams = [] } = useQuery(teamsQuery)
  const { data: members = [] } = useQuery(membersQuery)
  const { data: deployments } = useQuery(organizationDeploymentsQuery)
  const items = deployments?.items ?? []
  const suffixes = findIdSuffixes(items)
  const lacksBudget = (scope: BudgetScope, id: Option['id'] | null) =>
    budgets.every((budget) => budget.scope !== scope || budget.scope_id !== id)
  const options = {
    team: teams.map(({ id, name }) => ({ id, label: name })).filter(({ id }) => lacksBudget('team', id)),
    member: members
      .map(({ user_id: id, name, email }) => ({ id, label: `${name} (${email})` }))
      .filter(({ id }) => lacksBudget('member', id)),
    deployment: items
      .map((deployment) => ({
        id: deployment.id,
        label: text.budgets.ofOwner(
          [nameDeployment(deployment), suffixes.get(deployment.id)].filter(Boolean).join(' '),
          deployment.owner.name || deployment.owner.email,
        ),
      }))
      .filter(({ id }) => lacksBudget('deployment', id)),
  }
  const scopes = (['organization', 'team', 'member', 'deployment'] as const).filter((scope) =>
    scope === 'organization' ? lacksBudget(scope, null) : options[scope].length > 0,
  )
  return { scopes, options }
}

/** What happens at the limit, in words. */
function LimitActionField({ budget, scope }: { budget: Budget | null; scope: BudgetScope }) {
  const { user } = useSession()
  const isQuiet = useMailIsFile()
  const [action, setAction] = useState<LimitAction>(budget?.at_limit ?? 'notify')
  const whose = budget?.scope === 'member' && budget.scope_id === user.id ? 'own' : scope
  return (
    <SelectField
      label={text.budgets.action}
      name="at_limit"
      value={action}
      onChange={({ target }) => setAction(target.value as LimitAction)}
      hint={isQuiet && action === 'notify' ? text.budgets.quietNotify : text.budgets.atLimit[action](whose)}
    >
      {limitActions.map((each) => (
        <option key={each} value={each}>
          {(isQuiet ? text.budgets.quietActions : text.budgets.actions)[each]}
        </option>
      ))}
    </SelectField>
  )
}

interface ScopeFieldsProps {
  scope: BudgetScope
  choices: ScopeChoices
  onChange: (scope: BudgetScope) => void
  error: string | undefined
}

/** Whom or what a new budget is for. */
function ScopeFields({ scope, choices, onChange, error }: ScopeFieldsProps) {
  return (
    <>
      <SelectField
        label={text.budgets.scope}
        name="scope"
        value={scope}
        onChange={({ target }) => onChange(target.value as BudgetScope)}
      >
        {choices.scopes.map((each) => (
          <option key={each} value={each}>
            {text.budgets.scopes[each]}
          </option>
        ))}
      </SelectField>
      {scope !== 'organization' && (
        <SelectField label={text.budgets[scope]} name="scope_id" required error={error}>
          {choices.options[scope].map(({ id, label }) => (
            <option key={id} value={id}>
              {label}
            </option>
          ))}
        </SelectField>
      )}
    </>
  )
}
