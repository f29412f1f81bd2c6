import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { DeployableModel } from '../../contract.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { ErrorState } from '../../components/states.tsx'
import { useToasts } from '../../components/toast.tsx'
import { text } from '../../text/index.ts'
import { Alternatives } from './alternatives.tsx'
import { ExhaustedBudgets } from './exhausted-budgets.tsx'
import { DeployError } from './deploy-error.tsx'
import { LimitNotice, useLimitReached } from './limit-notice.tsx'
import { PlanPanel, PlanSkeleton } from './plan-panel.tsx'
import { placementsQuery } from '../models/queries.ts'
import { ContextField } from './context-field.tsx'
import { planQuery, useDeploy } from './queries.ts'
import type { Minimums } from './queries.ts'
import { offeredIdleMinutes, SleepField } from './sleep-field.tsx'
import { VariantFields } from './variant-fields.tsx'
import { chooseVariant } from '../models/variants.ts'
import type { Variant } from '../models/variants.ts'

const words = text.catalog

export interface DeployFormProps {
  onOpenChange: (open: boolean) => void
  model: DeployableModel
  /** The preselected variant. Missing parts default to what fits. */
  initial?: Partial<Variant> | undefined
}

/** The lazily loaded content of DeployDialog. */
export function DeployForm({ onOpenChange, model, initial = {} }: DeployFormProps) {
  const [preferred, setPreferred] = useState(initial)
  const [minimums, setMinimums] = useState<Minimums>({})
  const [sleeps, setSleeps] = useState(false)
  const placements = useQuery(placementsQuery)
  const own = placements.data?.items.filter(({ model_id }) => model_id === model.id) ?? []
  // The first choice depends on what fits.
  const choice = placements.isPending ? undefined : chooseVariant(model, preferred, own)
  const plan = useQuery({
    ...planQuery(model.model_name, choice, minimums),
    placeholderData: keepPreviousData,
  })
  const isSettled = plan.data !== undefined && !plan.isPlaceholderData && !plan.isError
  const isFull = useLimitReached()
  const deploy = useDeploy()
  const navigate = useNavigate()
  const toasts = useToasts()

  const choose = (changes: Partial<Variant>) => {
    deploy.reset()
    setPreferred({ ...choice, ...changes })
  }
  const submit = () => {
    if (!choice) return
    deploy.mutate(
      {
        request: { model_name: model.model_name, ...choice, ...minimums },
        idleMinutes: sleeps ? offeredIdleMinutes : undefined,
      },
      {
        onSuccess({ deployment: { id }, policyError }) {
          if (policyError !== null) toasts.error(policyError)
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
      open
      wide
      onOpenChange={onOpenChange}
      title={words.deployTitle(model.display_name)}
      description={words.deployNote}
      actions={
        <>
          <Button onClick={() => onOpenChange(false)}>{text.common.cancel}</Button>
          <Button
            variant="primary"
            busy={deploy.isPending || deploy.isSuccess}
            disabled={!isSettled || !plan.data.feasible || isFull}
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
        <VariantFields model={model} placements={own} choice={choice} onChoose={choose} />
        {model.model_type === 'LLM' && (
          <ContextField
            plan={plan.data}
            minimum={minimums.min_context_tokens}
            onChoose={(tokens) => {
              deploy.reset()
              setMinimums(tokens === undefined ? {} : { min_context_tokens: tokens })
            }}
          />
        )}
        {plan.isError ? (
          <ErrorState error={plan.error} onRetry={() => void plan.refetch()} />
        ) : plan.data ? (
          <PlanPanel plan={plan.data} isStale={plan.isPlaceholderData} />
        ) : (
          <PlanSkeleton />
        )}
        <SleepField plan={plan.data} checked={sleeps} onChange={setSleeps} />
        {isSettled && !plan.data.feasible && choice && (
          <Alternatives placements={own} choice={choice} onChoose={choose} />
        )}
        <DeployError error={deploy.error} onLeave={() => onOpenChange(false)} />
      </div>
    </Dialog>
  )
}
