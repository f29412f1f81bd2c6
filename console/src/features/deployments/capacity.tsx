import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import type { Deployment, DeploymentPlan } from '../../contract.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { TextField } from '../../components/field.tsx'
import { FirstError } from '../../components/first-error.tsx'
import { Figure, Section } from '../../components/page.tsx'
import { ErrorMessage } from '../../components/states.tsx'
import { isFinished } from '../../domain/deployments/status.ts'
import { isOfEndpoint } from '../../domain/models/endpoint-models.ts'
import { useAccess } from '../../domain/deployments/use-access.ts'
import { ContextField } from '../../domain/deploy/context-field.tsx'
import { planQuery } from '../../domain/deploy/queries.ts'
import type { Requirements } from '../../domain/deploy/queries.ts'
import { formatMoney, formatNumber } from '../../format.ts'
import { text } from '../../text/index.ts'
import { ManagedNotice } from './managed-notice.tsx'
import { useUpdateDeployment } from './queries.ts'

const words = text.deploymentParts
const route = getRouteApi('/app/deployments/$deploymentId')

/** How long and how many requests a deployment serves, and the dialog that sets minimums. */
export function Capacity({ deployment }: { deployment: Deployment }) {
  const { change } = useAccess(deployment)
  const open = route.useSearch().context === 'yes'
  const navigate = route.useNavigate()
  const setOpen = (opened: boolean) =>
    void navigate({
      search: (previous) => ({ ...previous, context: opened ? 'yes' : undefined }),
      replace: true,
    })
  const { context_tokens, parallel_sequences, min_context_tokens, min_parallel_sequences } = deployment
  if (context_tokens === null || parallel_sequences === null) return null
  const isOver = isFinished(deployment) || isOfEndpoint(deployment)
  return (
    <Section
      title={text.deployment.capacity}
      actions={change && !isOver && <Button onClick={() => setOpen(true)}>{words.setMinimums}</Button>}
    >
      <dl className="grid grid-cols-2 gap-4">
        <Figure
          label={words.contextTokens}
          value={words.tokens(formatNumber(context_tokens))}
          hint={min_context_tokens !== null && words.atLeast(formatNumber(min_context_tokens))}
        />
        <Figure
          label={words.parallelRequests}
          value={formatNumber(parallel_sequences)}
          hint={min_parallel_sequences !== null && words.atLeast(formatNumber(min_parallel_sequences))}
        />
      </dl>
      {open && change && !isOver && <MinimumsDialog deployment={deployment} onClose={() => setOpen(false)} />}
    </Section>
  )
}

/** Asks for the least capacity, and previews the instance that it needs. */
function MinimumsDialog({ deployment, onClose }: { deployment: Deployment; onClose: () => void }) {
  const [context, setContext] = useState(deployment.min_context_tokens)
  const [sequences, setSequences] = useState(toText(deployment.min_parallel_sequences))
  const change = useUpdateDeployment(deployment.id)
  const isValid = isWhole(sequences)
  const minimums = {
    min_context_tokens: context,
    min_parallel_sequences: isValid ? toNumber(sequences) : deployment.min_parallel_sequences,
  }
  const plan = useMinimumsPlan(deployment, minimums)
  const isRefused = plan?.feasible === false
  return (
    <Dialog
      onClose={onClose}
      title={words.setMinimums}
      description={deployment.status === 'running' ? words.minimumsWhenRunning : words.minimumsNote}
      actions={
        <>
          <FirstError form="minimums" error={isValid ? undefined : words.wholeNumber} />
          <Button onClick={onClose}>{text.common.cancel}</Button>
          <Button
            variant="primary"
            type="submit"
            form="minimums"
            busy={change.isPending}
            disabled={!isValid || isRefused}
          >
            {text.common.save}
          </Button>
        </>
      }
    >
      <form
        id="minimums"
        noValidate
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault()
          if (isValid && !isRefused) change.mutate(minimums, { onSuccess: onClose })
        }}
      >
        <ManagedNotice deployments={[deployment]} />
        {deployment.model_type === 'LLM' && (
          <ContextField
            plan={plan}
            minimum={context}
            onChoose={(tokens) => {
              change.reset()
              setContext(tokens)
            }}
          />
        )}
        <TextField
          label={words.parallelRequests}
          hint={words.emptyForNone}
          inputMode="numeric"
          value={sequences}
          onChange={({ target }) => {
            change.reset()
            setSequences(target.value)
          }}
          error={isValid ? undefined : words.wholeNumber}
        />
        {plan && <Preview plan={plan} />}
        <ErrorMessage error={change.error} />
      </form>
    </Dialog>
  )
}

function useMinimumsPlan(deployment: Deployment, minimums: Requirements): DeploymentPlan | undefined {
  const { model_name, model_format, model_size_in_billions, quantization, requested_instance_type } =
    deployment
  const requirements = { ...minimums, instance_type: requested_instance_type }
  const choice = { model_format, model_size_in_billions, quantization }
  const { data } = useQuery({
    ...planQuery(model_name, choice, requirements),
    placeholderData: keepPreviousData,
  })
  return data
}

/** The instance type that the minimums need, and its price, or why none serves them. */
function Preview({ plan }: { plan: DeploymentPlan }) {
  const { feasible, price_per_hour: price, instance_type: instanceType, currency, reason } = plan
  if (!feasible) {
    return (
      <p role="alert" className="text-[0.8125rem] break-words text-bad">
        {reason}
      </p>
    )
  }
  return (
    <p role="status" className="text-[0.8125rem] break-words text-muted">
      {text.plan.plannedSummary(
        instanceType ?? '',
        price === null ? text.catalog.priceUnknown : text.catalog.perHour(formatMoney(price, currency)),
      )}
    </p>
  )
}

function toText(value: number | null): string {
  return value === null ? '' : String(value)
}

function toNumber(value: string): number | null {
  return value.trim() === '' ? null : Number(value)
}

function isWhole(value: string): boolean {
  return /^\s*([1-9]\d{0,7})?\s*$/.test(value)
}
