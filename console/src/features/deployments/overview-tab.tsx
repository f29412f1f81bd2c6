import type { Deployment } from '../../contract.ts'
import { lazy, Suspense } from 'react'
import { Link } from '@tanstack/react-router'
import { Button } from '../../components/button.tsx'
import { Disclosure } from '../../components/disclosure.tsx'
import { Notice } from '../../components/states.tsx'
import { formatMoment } from '../../format.ts'
import { text } from '../../text/index.ts'
import { useAccess } from '../../domain/deployments/use-access.ts'
import { Capacity } from './capacity.tsx'
import { Details } from './details.tsx'
import { FailureNotice } from './failure-notice.tsx'
import { Instances } from './instances.tsx'
import { SleepNotice } from './sleep-notice.tsx'
import { Timeline } from './timeline.tsx'

/** Most deployments have none. */
const Adapters = lazy(async () => ({ default: (await import('./adapters.tsx')).Adapters }))

/** Failure, timeline, reason for the instance type, and details of a deployment. */
export function OverviewTab({ deployment }: { deployment: Deployment }) {
  return (
    <div className="grid items-start gap-5 lg:grid-cols-[minmax(0,1fr)_17rem] xl:grid-cols-[minmax(0,1fr)_23rem]">
      <div className="grid min-w-0 gap-5">
        <FailureNotice deployment={deployment} />
        <TerminatedNotice deployment={deployment} />
        <SleepNotice deployment={deployment} />
        <Instances deployment={deployment} />
        <Timeline deployment={deployment} />
        <Capacity deployment={deployment} />
        {deployment.model_type === 'LLM' && (
          <Suspense fallback={null}>
            <Adapters deployment={deployment} />
          </Suspense>
        )}
        {deployment.selected_instance_type !== null && (
          <Disclosure summary={text.deployment.whyInstance} className="rounded-xl bg-surface">
            <p className="max-w-prose px-5 py-4">{deployment.selection_reason}</p>
          </Disclosure>
        )}
      </div>
      <Details deployment={deployment} />
    </div>
  )
}

/** Where to find what a terminated deployment did. DeploymentActions offers to deploy it again. */
function TerminatedNotice({ deployment }: { deployment: Deployment }) {
  const { id, terminated_at: at } = deployment
  const { inspect } = useAccess(deployment)
  if (at === null) return null
  return (
    <Notice
      title={text.deployment.terminatedTitle(formatMoment(at))}
      action={
        inspect && (
          <Button asChild size="small">
            <Link to="/deployments/$deploymentId" params={{ deploymentId: id }} search={{ tab: 'logs' }}>
              {text.deployment.seeLogs}
            </Link>
          </Button>
        )
      }
    >
      {text.deployment.terminatedWords}
    </Notice>
  )
}
