import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { MessagesSquare, Moon, Sun } from 'lucide-react'
import { Suspense, useState } from 'react'
import type { Deployment } from '../../contract.ts'
import { useCan } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { lazyPart } from '../../routing/lazy-part.ts'
import { text } from '../../text/index.ts'
import { modelsQuery } from '../../domain/models/queries.ts'
import { DeployDialog } from '../../domain/deploy/deploy-dialog.tsx'
import { answersRequests, isEnding } from '../../domain/deployments/status.ts'
import { useAccess } from '../../domain/deployments/use-access.ts'
import { nameTermination } from './name-termination.ts'
import { ShareButton } from './share-button.tsx'
import { findSleepAction } from './sleep-action.ts'
import { useSleepOrWake } from './use-sleep-or-wake.ts'

const TerminateDialog = lazyPart(() =>
  import('./terminate-dialog.tsx').then((module) => module.TerminateDialog),
)

const words = text.deployments
const route = getRouteApi('/app/deployments/$deploymentId')

/** The actions that a deployment's status and the person's role allow. */
export function DeploymentActions({ deployment }: { deployment: Deployment }) {
  const can = useCan()
  const access = useAccess(deployment)
  const { id, status } = deployment
  return (
    <>
      {access.change && !isEnding(deployment) && status !== 'failed' && (
        <ShareButton deployment={deployment} />
      )}
      {access.change && <SleepButton deployment={deployment} />}
      {access.terminate && !isEnding(deployment) && <TerminateButton deployment={deployment} />}
      {can('createDeployments') && (status === 'failed' || status === 'terminated') && (
        <DeployAgainButton deployment={deployment} />
      )}
      {access.call && answersRequests(deployment) && (
        <Button asChild variant="primary">
          <Link to="/playground" search={{ deployment: id }}>
            <MessagesSquare aria-hidden />
            {words.openInPlayground}
          </Link>
        </Button>
      )}
    </>
  )
}

/** Puts a running deployment to sleep, or wakes a sleeping one. */
function SleepButton({ deployment }: { deployment: Deployment }) {
  const change = useSleepOrWake()
  const action = findSleepAction(deployment)
  if (action === null) return null
  return (
    <Button busy={change.isPending} onClick={() => change.mutate({ id: deployment.id, act: action })}>
      {action === 'sleep' ? <Moon aria-hidden /> : <Sun aria-hidden />}
      {text.deployments[action]}
    </Button>
  )
}

function TerminateButton({ deployment }: { deployment: Deployment }) {
  const { terminate } = route.useSearch()
  const navigate = route.useNavigate()
  const ask = (open: boolean) =>
    void navigate({
      search: (previous) => ({ ...previous, terminate: open ? 'yes' : undefined }),
      replace: true,
    })
  return (
    <>
      <Button onClick={() => ask(true)}>{nameTermination(deployment)}</Button>
      <Suspense>
        <TerminateDialog deployment={deployment} open={terminate === 'yes'} onOpenChange={ask} />
      </Suspense>
    </>
  )
}

function DeployAgainButton({ deployment }: { deployment: Deployment }) {
  const [open, setOpen] = useState(false)
  const { model_name, model_format, model_size_in_billions, quantization } = deployment
  const { data: models } = useQuery(modelsQuery)
  const model = models?.find((one) => one.model_name === model_name)
  if (models && !model) return <p className="py-2 text-muted">{text.deployment.modelGone(model_name)}</p>
  return (
    <>
      <Button variant="primary" disabled={!model} onClick={() => setOpen(true)}>
        {text.deployment.deployAgain}
      </Button>
      {model && (
        <DeployDialog
          open={open}
          onOpenChange={setOpen}
          model={model}
          initial={{ model_format, model_size_in_billions, quantization }}
        />
      )}
    </>
  )
}
