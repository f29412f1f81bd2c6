import { useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import type { Budget, NewBudgetInput } from '../../../contract.ts'
import { Button } from '../../../components/button.tsx'
import { Dialog } from '../../../components/dialog.tsx'
import { SelectField, TextField } from '../../../components/field.tsx'
import { fieldErrors, Form } from '../../../components/form.tsx'
import { useToasts } from '../../../components/toast.tsx'
import { billingAccountQuery } from '../../../domain/billing/queries.ts'
import { organizationDeploymentsQuery } from '../../../domain/deployments/queries.ts'
import { membersQuery } from '../../../domain/members/queries.ts'
import { text } from '../../../text/index.ts'
import { useChangeBudget, useCreateBudget } from './queries.ts'
import { useBudgetName } from './use-budget-name.ts'

type Scope = NewBudgetInput['scope']
type LimitAction = NewBudgetInput['at_limit']
type Fields = 'scope' | 'scope_id' | 'monthly_limit' | 'at_limit'

const scopes: readonly Scope[] = ['organization', 'member', 'deployment']
const limitActions: readonly LimitAction[] = ['notify', 'block']

/** Adds a budget, or edits one. Says what happens at the limit before it is saved. */
export function BudgetDialog({ budget, onClose }: { budget: Budget | null; onClose: () => void }) {
  const formId = useId()
  const name = useBudgetName()
  const create = useCreateBudget()
  const change = useChangeBudget(budget?.id ?? 0)
  const toasts = useToasts()
  const { data: account } = useQuery(billingAccountQuery)
  const [scope, setScope] = useState<Scope>(budget?.scope ?? 'organization')
  const [atLimit, setAtLimit] = useState<LimitAction>(budget?.at_limit ?? 'notify')
  const { error, isPending } = budget ? change : create
  const finish = (message: string) => () => {
    toasts.success(message)
    onClose()
  }
  const submit = (values: Record<Fields, string>) => {
    const terms = { monthly_limit: values.monthly_limit.trim(), at_limit: atLimit }
    if (budget) {
      change.mutate(terms, { onSuccess: finish(text.budgets.saved) })
      return
    }
    const scopeId = scope === 'member' ? Number(values.scope_id) : values.scope_id
    const target = scope === 'organization' ? { scope } : { scope, scope_id: scopeId }
    create.mutate({ ...target, ...terms }, { onSuccess: finish(text.budgets.created) })
  }
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={budget ? text.budgets.editTitle(name(budget)) : text.budgets.createTitle}
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
          <ScopeFields scope={scope} onChange={setScope} error={fieldErrors(error).scope_id} />
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
        <SelectField
          label={text.budgets.atLimit}
          name="at_limit"
          value={atLimit}
          onChange={({ target }) => setAtLimit(target.value as LimitAction)}
          hint={text.budgets.before[atLimit](scope)}
        >
          {limitActions.map((action) => (
            <option key={action} value={action}>
              {text.budgets.actions[action]}
            </option>
          ))}
        </SelectField>
      </Form>
    </Dialog>
  )
}

interface ScopeFieldsProps {
  scope: Scope
  onChange: (scope: Scope) => void
  error: string | undefined
}

/** Whom or what a new budget is for. */
function ScopeFields({ scope, onChange, error }: ScopeFieldsProps) {
  const { data: members = [] } = useQuery(membersQuery)
  const { data: deployments } = useQuery(organizationDeploymentsQuery)
  const options =
    scope === 'member'
      ? members.map(({ user_id: id, name, email }) => ({ id, label: `${name} (${email})` }))
      : (deployments?.items ?? []).map(({ id, model_name: model }) => ({ id, label: `${model} · ${id}` }))
  return (
    <>
      <SelectField
        label={text.budgets.scope}
        name="scope"
        value={scope}
        onChange={({ target }) => onChange(target.value as Scope)}
      >
        {scopes.map((each) => (
          <option key={each} value={each}>
            {text.budgets.scopes[each]}
          </option>
        ))}
      </SelectField>
      {scope !== 'organization' && (
        <SelectField label={text.budgets[scope]} name="scope_id" required error={error}>
          {options.map(({ id, label }) => (
            <option key={id} value={id}>
              {label}
            </option>
          ))}
        </SelectField>
      )}
    </>
  )
}
