import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { DeployableModel, Deployment } from '../../contract.ts'
import { Button } from '../../components/button.tsx'
import { Section } from '../../components/page.tsx'
import { ErrorMessage } from '../../components/states.tsx'
import { answersRequests, isFinished } from '../../domain/deployments/status.ts'
import { useAccess } from '../../domain/deployments/use-access.ts'
import { modelsQuery } from '../../domain/models/queries.ts'
import { formatBytes } from '../../format.ts'
import { text } from '../../text/index.ts'
import { useUpdateDeployment } from './queries.ts'

const words = text.adapters

/** The LoRAs that a deployment serves and those that it could serve, if any. */
export function Adapters({ deployment }: { deployment: Deployment }) {
  const { id, adapters } = deployment
  const { call: mayCall, change: mayChange } = useAccess(deployment)
  const { data: models = [] } = useQuery(modelsQuery)
  const change = useUpdateDeployment(id)
  const isOver = isFinished(deployment)
  const canChange = mayChange && !isOver
  const others = canChange ? models.filter((model) => isOther(model, deployment)) : []
  if (adapters.length === 0 && others.length === 0) return null
  const ids = adapters.map(({ model_id }) => model_id)
  return (
    <Section title={words.title}>
      <p className="max-w-prose text-muted">{words.note(deployment.model_name)}</p>
      {adapters.length > 0 && (
        <ul className="mt-3 divide-y rounded-lg border" aria-label={words.served}>
          {adapters.map(({ model_id, model_name, rank, weight_bytes, ready }) => (
            <Item
              key={model_id}
              modelId={model_id}
              name={model_name}
              hint={words.facts(rank, formatBytes(weight_bytes), ready ? words.ready : words.starting)}
              action={canChange ? words.remove : null}
              target={ready && mayCall && answersRequests(deployment) ? `${id}:${model_name}` : null}
              busy={change.isPending}
              onAct={() => change.mutate({ adapters: ids.filter((each) => each !== model_id) })}
            />
          ))}
        </ul>
      )}
      {others.length > 0 && (
        <ul className="mt-3 divide-y rounded-lg border" aria-label={words.available}>
          {others.map((model) => (
            <Item
              key={model.id}
              modelId={model.id}
              name={model.model_name}
              hint={model.description}
              action={words.add}
              target={null}
              busy={change.isPending}
              onAct={() => change.mutate({ adapters: [...ids, model.id] })}
            />
          ))}
        </ul>
      )}
      <ErrorMessage error={change.error} />
    </Section>
  )
}

/** A LoRA of the deployment's model that it does not serve. */
function isOther({ id, base_model }: DeployableModel, { model_name, adapters }: Deployment): boolean {
  return base_model === model_name && !adapters.some(({ model_id }) => model_id === id)
}

interface ItemProps {
  modelId: string
  name: string
  hint: string
  /** What the button does; null for none */
  action: string | null
  /** What the playground calls; null without a link to it */
  target: string | null
  busy: boolean
  onAct: () => void
}

function Item({ modelId, name, hint, action, target, busy, onAct }: ItemProps) {
  return (
    <li className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 px-4 py-2.5">
      <div className="grid min-w-0 gap-0.5">
        <Link to="/catalog/$modelId" params={{ modelId }} className="font-medium break-all hover:underline">
          {name}
        </Link>
        <span className="text-[0.8125rem] break-words text-muted">{hint}</span>
      </div>
      <div className="flex flex-wrap gap-2 empty:hidden">
        {target !== null && (
          <Button asChild size="small">
            <Link to="/playground" search={{ deployment: target }} aria-label={words.inPlayground(name)}>
              {text.deployments.openInPlayground}
            </Link>
          </Button>
        )}
        {action !== null && (
          <Button size="small" disabled={busy} aria-label={words.of(action, name)} onClick={onAct}>
            {action}
          </Button>
        )}
      </div>
    </li>
  )
}
