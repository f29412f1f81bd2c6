import type { Deployment } from '../../../../server/src/contract.ts'
import { Section } from '../../components/page.tsx'
import { text } from '../../text/index.ts'
import { Capacity } from './capacity.tsx'
import { Details } from './details.tsx'
import { FailureNotice } from './failure-notice.tsx'
import { Timeline } from './timeline.tsx'

/** Failure, timeline, reason for the instance type, and details of a deployment. */
export function OverviewTab({ deployment }: { deployment: Deployment }) {
  return (
    <div className="grid items-start gap-5 lg:grid-cols-[minmax(0,1fr)_23rem]">
      <div className="grid min-w-0 gap-5">
        <FailureNotice deployment={deployment} />
        <Timeline deployment={deployment} />
        <Capacity deployment={deployment} />
        {deployment.selection_reason !== null && (
          <Section title={text.deployment.whyInstance}>
            <p className="max-w-prose">{deployment.selection_reason}</p>
          </Section>
        )}
      </div>
      <Details deployment={deployment} />
    </div>
  )
}
