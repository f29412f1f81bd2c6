import { Link } from '@tanstack/react-router'
import type { Deployment } from '../../contract.ts'
import { Notice } from '../../components/states.tsx'
import { isEnding } from '../../domain/deployments/status.ts'
import { text } from '../../text/index.ts'

interface DeploymentNoticesProps {
  deployments: readonly Deployment[]
  names: ReadonlyMap<string, string>
  ids: readonly string[]
}

/** Lists the selected deployments that don't answer now, with the reason. */
export function DeploymentNotices({ deployments, names, ids }: DeploymentNoticesProps) {
  return ids.map((id) => {
    const deployment = deployments.find((one) => one.id === id)
    if (deployment?.status === 'running') return null
    const name = names.get(id) ?? text.playground.gone
    return (
      <Notice
        key={id}
        tone={!deployment || isEnding(deployment) ? 'warn' : deployment.status === 'failed' ? 'bad' : 'busy'}
        action={
          deployment && (
            <Link
              to="/deployments/$deploymentId"
              params={{ deploymentId: id }}
              className="font-medium underline underline-offset-4"
            >
              {text.playground.openDeployment}
            </Link>
          )
        }
      >
        <span role="status">{describeState(name, deployment)}</span>
      </Notice>
    )
  })
}

function describeState(name: string, deployment: Deployment | undefined) {
  if (!deployment) return text.playground.isUnknown
  if (isEnding(deployment)) return text.playground.isGone(name)
  return deployment.status === 'failed' ? text.playground.hasFailed(name) : text.playground.notReady(name)
}
