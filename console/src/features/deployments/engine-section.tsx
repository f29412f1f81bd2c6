import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Section } from '../../components/page.tsx'
import { ErrorMessage } from '../../components/states.tsx'
import type { Deployment } from '../../contract.ts'
import { EngineOptionsField } from '../../domain/deploy/engine-options-field.tsx'
import { planQuery } from '../../domain/deploy/queries.ts'
import { isFinished } from '../../domain/deployments/status.ts'
import type { DeploymentAccess } from '../../domain/deployments/access.ts'
import { useAccess } from '../../domain/deployments/use-access.ts'
import { writeEngineOptions } from '../../engine-options.ts'
import type { EngineOptions } from '../../engine-options.ts'
import { text } from '../../text/index.ts'
import { ManagedNotice } from './managed-notice.tsx'
import { useUpdateDeployment } from './queries.ts'

const words = text.engine

/** The options of a deployment's engine, for those who may set them or where some are set. */
export function EngineSection({ deployment }: { deployment: Deployment }) {
  const [isEditing, setEditing] = useState(false)
  const access = useAccess(deployment)
  const { engine_options: options } = deployment
  const mayChange = access.configure && !isFinished(deployment)
  const { data: plan } = useQuery({ ...toPlanQuery(deployment, options), enabled: mayChange })
  const canChange = mayChange && plan?.command != null
  const change = useUpdateDeployment(deployment.id)
  const update = findUpdate(deployment, access)
  const lines = writeEngineOptions(options)
  if (lines.length === 0 && !canChange && update === null) return null
  return (
    <Section
      title={words.title}
      actions={canChange && <Button onClick={() => setEditing(true)}>{words.setOptions}</Button>}
    >
      {update !== null && (
        <div className="mb-3 grid justify-items-start gap-2">
          <Button busy={change.isPending} onClick={() => change.mutate({ engine_version: update })}>
            {words.update(update)}
          </Button>
          <ErrorMessage error={change.error} />
        </div>
      )}
      {lines.length === 0 && <p className="text-muted">{words.none}</p>}
      {lines.length > 0 && (
        <ul aria-label={words.options} className="grid gap-1 font-mono text-xs break-all">
          {lines.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      )}
      {isEditing && <OptionsDialog deployment={deployment} onClose={() => setEditing(false)} />}
    </Section>
  )
}

/** The newer version to offer; null for none, and while the deployment moves to it. */
function findUpdate(deployment: Deployment, { change }: DeploymentAccess): string | null {
  const { engine, engine_version: asked } = deployment
  const update = engine?.update ?? null
  return change && !isFinished(deployment) && update !== asked ? update : null
}

function toPlanQuery(deployment: Deployment, options: EngineOptions) {
  const { model_name, model_format, model_size_in_billions, quantization } = deployment
  const { min_context_tokens, min_parallel_sequences, requested_instance_type: instance_type } = deployment
  const choice = { model_format, model_size_in_billions, quantization }
  const requirements = { min_context_tokens, min_parallel_sequences, instance_type, engine_options: options }
  return planQuery(model_name, choice, requirements)
}

function OptionsDialog({ deployment, onClose }: { deployment: Deployment; onClose: () => void }) {
  const [options, setOptions] = useState<EngineOptions | undefined>(deployment.engine_options)
  const plan = useQuery({
    ...toPlanQuery(deployment, options ?? deployment.engine_options),
    placeholderData: keepPreviousData,
    retry: false,
  })
  const change = useUpdateDeployment(deployment.id)
  return (
    <Dialog
      wide
      onClose={onClose}
      title={words.setOptions}
      description={deployment.status === 'running' ? words.whenRunning : words.note}
      actions={
        <>
          <Button onClick={onClose}>{text.common.cancel}</Button>
          <Button
            variant="primary"
            busy={change.isPending}
            disabled={options === undefined}
            onClick={() => options && change.mutate({ engine_options: options }, { onSuccess: onClose })}
          >
            {text.common.save}
          </Button>
        </>
      }
    >
      <div className="grid gap-4">
        <ManagedNotice deployments={[deployment]} />
        <EngineOptionsField
          initial={deployment.engine_options}
          plan={plan.isError ? undefined : plan.data}
          onChange={(next) => {
            change.reset()
            setOptions(next)
          }}
        />
        <ErrorMessage error={change.error ?? plan.error} />
      </div>
    </Dialog>
  )
}
