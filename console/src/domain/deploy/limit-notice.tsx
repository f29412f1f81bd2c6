import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useCan } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { Notice } from '../../components/states.tsx'
import { formatNumber } from '../../format.ts'
import { text } from '../../text/index.ts'
import { usageSummaryQuery } from '../billing/queries.ts'

const words = text.catalog

/** Whether the organization has as many active deployments as its plan allows; false until that is known. */
export function useLimitReached(): boolean {
  const { data } = useQuery(usageSummaryQuery)
  return data !== undefined && data.active_resources >= data.max_active_resources
}

/** How many deployments the organization may add, or what to do if none. The links call `onLeave`. */
export function LimitNotice({ onLeave }: { onLeave: () => void }) {
  const { data } = useQuery(usageSummaryQuery)
  const isFull = useLimitReached()
  const can = useCan()
  if (data === undefined) return null
  const [active, max] = [formatNumber(data.active_resources), formatNumber(data.max_active_resources)]
  if (!isFull) return <p className="text-[0.8125rem] text-muted">{words.limit(active, max)}</p>
  return (
    <Notice
      tone="warn"
      action={
        <div className="flex flex-wrap gap-2">
          <Button asChild size="small">
            <Link to="/deployments" onClick={onLeave}>
              {words.toDeployments}
            </Link>
          </Button>
          {can('manageBilling') && (
            <Button asChild size="small">
              <Link to="/billing" onClick={onLeave}>
                {words.toBilling}
              </Link>
            </Button>
          )}
        </div>
      }
    >
      {words.limitReached(max)} {can('manageBilling') ? words.limitRemedy : words.limitRemedyMember}
    </Notice>
  )
}
