import { keepPreviousData, useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { useNavigate, Link } from '@tanstack/react-router'
import { useState, Suspense } from 'react'
import { organizationQuery, useCan } from '../../api/session.ts'
import { SelectField, TextField } from '../../components/field.tsx'
import type { DeployableModel, Placement, DeploymentPlan, Budget } from '../../contract.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { ErrorState, Notice } from '../../components/states.tsx'
import { SwitchField } from '../../components/switch-field.tsx'
import { useToasts } from '../../components/toast.tsx'
import { formatNumber } from '../../format.ts'
import { lazyPart } from '../../routing/lazy-part.ts'
import { text } from '../../text/index.ts'
import { usageSummaryQuery } from '../billing/queries.ts'
import { usePaysHere } from '../installation.ts'
import { ownBudgetsQuery } from '../budgets/queries.ts'
import { findAliasError } from '../deployments/alias.ts'
import { isOfEndpoint } from '../models/endpoint-models.ts'
import { nameVariant } from '../models/variant-names.ts'
import { ContextField } from './context-field.tsx'
import { SameCommand } from '../cli/same-command.tsx'
import { writeDeployCommand } from './deploy-command.ts'
import { DeployError } from './deploy-error.tsx'
import { PlanPanel, PlanSkeleton } from './plan-panel.tsx'
import { placementsQuery } from '../models/queries.ts'
import { planQuery, useDeploy } from './queries.ts'
import type { Requirements } from './queries.ts'
import { offeredIdleMinutes, SleepField } from './sleep-field.tsx'
import { VariantFields } from './variant-fields.tsx'
import { chooseVariant } from '../models/variants.ts'
import type { Variant } from '../models/variants.ts'

const shownAtMost = 4

const words = text.catalog

export interface DeployFormProps {
  onOpenChange: (open: boolean) => void
  model: DeployableModel
  /** The preselected variant. Missing parts default to what fits. */
  initial?: Partial<Variant> | undefined
}

// Most people have no budget.
const BudgetNotices = lazyPart(() =>
  import('../budgets/budget-notices.tsx').then((module) => module.BudgetNotices),
)

const EngineOptionsPart = lazyPart(() =>
  import('./engine-options-part.tsx').then((module) => module.EngineOptionsPart),
)

const stopsNewDeployments = ({ scope, at_limit: atLimit, exhausted }: Budget) =>
  exhausted && atLimit !== 'notify' && scope !== 'deployment'

/** The lazily loaded content of DeployDialog. */
export function DeployForm({ onOpenChange, model, initial = {} }: DeployFormProps) {
  const [preferred, setPreferred] = useState(initial)
  const [requirements, setRequirements] = useState<Requirements>({})
  const [sleeps, setSleeps] = useState(false)
  const [shares, setShares] = useState(false)
  const { data: organization } = useSuspenseQuery(organizationQuery)
  const [alias, setAlias] = useState('')
  const aliasError = findAliasError(alias)
  const [isMalformed, setMalformed] = useState(false)
  const placements = useQuery(placementsQuery)
  const own = placements.data?.items.filter(({ model_id }) => model_id === model.id) ?? []
  // The first choice depends on what fits.
  const choice = placements.isPending ? undefined : chooseVariant(model, preferred, own)
  const plan = useQuery({
    ...planQuery(model.model_name, choice, requirements),
    placeholderData: keepPreviousData,
  })
  const isOutside = isOfEndpoint(model.default_variant)
  const isSettled = plan.data !== undefined && !plan.isPlaceholderData && !plan.isError
  const isStopped = useStoppingBudgets().length > 0
  const isFull = useLimitReached()
  const canSetOptions = useCan()('manageDeployments') && takesOptions(plan.data, requirements)
  const deploy = useDeploy()
  const navigate = useNavigate()
  const toasts = useToasts()

  const choose = (changes: Partial<Variant>) => {
    deploy.reset()
    setPreferred({ ...choice, ...changes })
  }
  const ask = (changes: Requirements) => {
    deploy.reset()
    setRequirements({ ...requirements, ...changes })
  }
  const request = {
    model_name: model.model_name,
    ...choice,
    ...requirements,
    ...(alias.trim() !== '' && { alias: alias.trim() }),
  }
  const submit = () => {
    if (!choice) return
    deploy.mutate(
      {
        request,
        changes: {
          ...(sleeps && { idle_minutes: offeredIdleMinutes }),
          ...(shares && { shared_with: 'organization' }),
        },
      },
      {
        onSuccess({ deployment: { id }, changeError }) {
          if (changeError !== null) toasts.error(changeError)
          // Keeps the dialog open until the deployment's page has loaded and can receive the focus.
          void navigate({ to: '/deployments/$deploymentId', params: { deploymentId: id } }).then(() =>
            onOpenChange(false),
          )
        },
      },
    )
  }

  return (
    <Dialog
      wide
      onClose={() => onOpenChange(false)}
      title={text.plan.deployTitle(model.display_name)}
      description={text.plan.deployNote}
      actions={
        <>
          <Button onClick={() => onOpenChange(false)}>{text.common.cancel}</Button>
          <Button
            variant="primary"
            busy={deploy.isPending || deploy.isSuccess}
            disabled={
              !isSettled ||
              !plan.data.feasible ||
              isFull ||
              isStopped ||
              aliasError !== undefined ||
              isMalformed
            }
            onClick={submit}
          >
            {words.deploy}
          </Button>
        </>
      }
    >
      <div className="grid gap-4">
        <ExhaustedBudgets />
        <LimitNotice onLeave={() => onOpenChange(false)} />
        <TextField
          label={text.instances.alias}
          hint={text.instances.newAliasHint}
          error={aliasError}
          autoComplete="off"
          spellCheck={false}
          value={alias}
          onChange={({ target }) => setAlias(target.value)}
        />
        {!isOutside && <VariantFields model={model} placements={own} choice={choice} onChoose={choose} />}
        {model.model_type === 'LLM' && (
          <ContextField
            plan={plan.data}
            minimum={requirements.min_context_tokens}
            onChoose={(tokens) => ask({ min_context_tokens: tokens })}
          />
        )}
        <InstanceField
          plan={plan.data}
          chosen={requirements.instance_type ?? null}
          onChoose={(name) => ask({ instance_type: name })}
        />
        {plan.isError ? (
          <ErrorState error={plan.error} onRetry={() => void plan.refetch()} />
        ) : plan.data ? (
          <PlanPanel model={model.model_name} plan={plan.data} isStale={plan.isPlaceholderData} />
        ) : (
          <PlanSkeleton />
        )}
        <SwitchField label={text.plan.shareOffer(organization.name)} checked={shares} onChange={setShares}>
          {text.plan.shareOfferHint}
        </SwitchField>
        {!isOutside && <SleepField plan={plan.data} checked={sleeps} onChange={setSleeps} />}
        {canSetOptions && (
          <Suspense>
            <EngineOptionsPart
              plan={plan.data}
              onChange={(options) => ask({ engine_options: options })}
              onError={setMalformed}
            />
          </Suspense>
        )}
        {isSettled && !plan.data.feasible && choice && (
          <Alternatives placements={own} choice={choice} onChoose={choose} />
        )}
        {choice && <SameCommand command={writeDeployCommand(request, { sleeps, shares })} />}
        <DeployError error={deploy.error} onLeave={() => onOpenChange(false)} />
      </div>
    </Dialog>
  )
}

/** Whether the planned engine takes options; true while some are set, so that a person can remove them. */
function takesOptions(plan: DeploymentPlan | undefined, { engine_options: set }: Requirements): boolean {
  return plan?.command != null || set !== undefined
}

/** Whether the organization's deployments have as many instances as its plan allows; false until known. */
function useLimitReached(): boolean {
  const { data } = useQuery(usageSummaryQuery)
  return data !== undefined && data.active_resources >= data.max_active_resources
}

/** How many instances the organization may add, or what to do if none. The links call `onLeave`. */
function LimitNotice({ onLeave }: { onLeave: () => void }) {
  const { data } = useQuery(usageSummaryQuery)
  const isFull = useLimitReached()
  const paysHere = usePaysHere()
  const can = useCan()
  if (data === undefined || !paysHere) return null
  const [active, max] = [formatNumber(data.active_resources), formatNumber(data.max_active_resources)]
  if (!isFull) return <p className="text-[0.8125rem] text-muted">{text.plan.limit(active, max)}</p>
  return (
    <Notice
      tone="warn"
      action={
        <div className="flex flex-wrap gap-2">
          <Button asChild size="small">
            <Link to="/deployments" onClick={onLeave}>
              {text.plan.toDeployments}
            </Link>
          </Button>
          {can('manageBilling') && (
            <Button asChild size="small">
              <Link to="/billing" onClick={onLeave}>
                {text.plan.toBilling}
              </Link>
            </Button>
          )}
        </div>
      }
    >
      {text.plan.limitReached(active, max)}{' '}
      {can('manageBilling') ? text.plan.limitRemedy : text.plan.limitRemedyMember}
    </Notice>
  )
}

/** The budgets that stop new deployments of the person. */
function useStoppingBudgets(): Budget[] {
  const { data: budgets = [] } = useQuery(ownBudgetsQuery)
  return budgets.filter(stopsNewDeployments)
}

/** Says why the person can't deploy. */
function ExhaustedBudgets() {
  const stopping = useStoppingBudgets()
  if (stopping.length === 0) return null
  return (
    <Suspense>
      <BudgetNotices budgets={stopping} />
    </Suspense>
  )
}

/** Selects an instance type that fits; null for the cheapest. Hidden where there is no choice. */
function InstanceField({
  plan,
  chosen,
  onChoose,
}: {
  /** Undefined until the first plan is known. */
  plan: DeploymentPlan | undefined
  chosen: string | null
  onChoose: (name: string | null) => void
}) {
  const fitting = plan?.considered.filter(({ fits }) => fits) ?? []
  const names = new Set([...fitting.map((one) => one.instance_type), ...(chosen === null ? [] : [chosen])])
  if (names.size < 2 && chosen === null) return null
  return (
    <SelectField
      label={text.plan.instance}
      value={chosen ?? ''}
      onChange={({ target }) => onChoose(target.value === '' ? null : target.value)}
    >
      <option value="">{text.plan.cheapestInstance}</option>
      {[...names].map((name) => (
        <option key={name}>{name}</option>
      ))}
    </SelectField>
  )
}

interface AlternativesProps {
  /** The placements of the model's variants. */
  placements: readonly Placement[]
  choice: Variant
  onChoose: (choice: Variant) => void
}

/** Suggests variants that fit instead of one that does not; without any, links to models that fit. */
function Alternatives({ placements, choice, onChoose }: AlternativesProps) {
  const nearest = findNearest(placements, choice)
  return (
    <div className="flex flex-wrap items-center gap-2">
      <p className="w-full text-muted">{nearest.length > 0 ? text.plan.wouldFit : text.plan.noneFits}</p>
      {nearest.map(({ model_format, model_size_in_billions, quantization }) => {
        const alternative = { model_format, model_size_in_billions, quantization }
        return (
          <Button key={nameVariant(alternative)} size="small" onClick={() => onChoose(alternative)}>
            {nameVariant(alternative)}
          </Button>
        )
      })}
      {nearest.length === 0 && (
        <Button asChild size="small">
          <Link to="/catalog" search={{ fits: 'yes' }}>
            {text.plan.seeFitting}
          </Link>
        </Button>
      )}
    </div>
  )
}

/** The fitting variants of the same size, then the most similar one of each other size, nearest first. */
function findNearest(placements: readonly Placement[], choice: Variant): Placement[] {
  const size = choice.model_size_in_billions
  const likeness = (placement: Placement) =>
    2 * Number(placement.model_format === choice.model_format) +
    Number(placement.quantization === choice.quantization)
  const fitting = placements
    .filter(({ feasible }) => feasible)
    .toSorted((one, other) => likeness(other) - likeness(one))
  const bySize = Map.groupBy(fitting, (placement) => placement.model_size_in_billions)
  return [...bySize]
    .toSorted(([one], [other]) => Math.abs(one - size) - Math.abs(other - size))
    .flatMap(([ofSize, members]) => (ofSize === size ? members : members.slice(0, 1)))
    .slice(0, shownAtMost)
}
