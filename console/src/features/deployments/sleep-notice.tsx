import { useQuery } from '@tanstack/react-query'
import type { Deployment, DeploymentTransition } from '../../contract.ts'
import { Notice } from '../../components/states.tsx'
import { formatDuration, formatMoment, formatNumber } from '../../format.ts'
import { eventsQuery, findStartTime } from '../../domain/deployments/events.ts'
import { isFallingAsleep } from '../../domain/deployments/status.ts'
import { text } from '../../text/index.ts'

const words = text.instances

/** What sleep means for a deployment that sleeps or is about to; why the last attempt to wake it failed. */
export function SleepNotice({ deployment }: { deployment: Deployment }) {
  const { id, status, status_message: refusal } = deployment
  const isAsleep = status === 'sleeping'
  const { data: events = [] } = useQuery({ ...eventsQuery(id), enabled: isAsleep })
  if (isFallingAsleep(deployment)) {
    return <Notice title={text.deployments.fallingAsleep}>{words.fallingAsleep}</Notice>
  }
  if (!isAsleep) return null
  const start = findStartTime(events)
  const since = events.findLast((event) => event.transition?.type === 'sleep' && event.transition.phases)
  return (
    <Notice tone={refusal === null ? 'busy' : 'warn'} title={words.sleepingTitle}>
      {refusal !== null && <p>{words.refused(refusal)}</p>}
      {refusal === null && since?.transition && (
        <p>
          {words.asleepSince(formatMoment(since.at))} {describeCause(since.transition)}
        </p>
      )}
      <p>
        {words.sleeping} {start !== null && words.lastStart(formatDuration(start))}
      </p>
    </Notice>
  )
}

function describeCause({ cause, by, idle_minutes: minutes }: DeploymentTransition): string | null {
  if (cause === 'person') return words.sleepCauses.person(by)
  if (cause === 'idle') return words.sleepCauses.idle(minutes ?? 0, formatNumber(minutes ?? 0))
  return cause === 'budget' || cause === 'yield' ? words.sleepCauses[cause] : null
}
