import { Link } from '@tanstack/react-router'
import { TriangleAlert } from 'lucide-react'
import type { Deployment } from '../../contract.ts'
import { Button } from '../../components/button.tsx'
import { text } from '../../text/index.ts'
import { useAccess } from '../../domain/deployments/use-access.ts'
import { parseFailure } from './failure-reason.ts'

const words = text.deploymentParts

/** Failure codes with details in the engine's log. */
const codesWithLogs = new Set([
  'launch_rejected',
  'readiness_timeout',
  'engine_crashed',
  'out_of_memory',
  'engine_unreachable',
  '',
])

/** Shows why a deployment failed and what to do next. */
export function FailureNotice({ deployment }: { deployment: Deployment }) {
  const { id, failure_stage, failure_reason } = deployment
  const { inspect } = useAccess(deployment)
  if (failure_stage === null) return null
  const { code, sentence } = parseFailure(failure_reason ?? '')
  const title = text.timeline.failedAt(text.timeline.stages[failure_stage] ?? failure_stage)
  return (
    <section aria-label={title} className="grid gap-4 rounded-xl border border-bad/30 bg-bad-soft px-5 py-4">
      <div className="flex gap-3">
        <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-bad" />
        <div className="grid min-w-0 gap-1">
          <h2 className="font-semibold text-bad">{title}</h2>
          <p className="break-words">{sentence}</p>
          {code !== '' && <p className="font-mono text-xs text-muted">{code}</p>}
        </div>
      </div>
      <div className="grid gap-2 pl-7">
        <h3 className="font-medium">{text.timeline.whatToDo}</h3>
        <p className="max-w-prose">{text.timeline.remedies[code] ?? text.timeline.unknownRemedy}</p>
        <div className="mt-1 flex flex-wrap gap-2">
          {inspect && codesWithLogs.has(code) && (
            <Button asChild size="small">
              <Link to="/deployments/$deploymentId" params={{ deploymentId: id }} search={{ tab: 'logs' }}>
                {words.seeLogs}
              </Link>
            </Button>
          )}
          {code === 'no_feasible_instance' && (
            <Button asChild size="small">
              <Link to="/catalog" search={{ fits: 'yes' }}>
                {text.timeline.otherModel}
              </Link>
            </Button>
          )}
        </div>
      </div>
    </section>
  )
}
