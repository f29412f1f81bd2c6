import type { DeploymentUse } from '../../contract.ts'
import { formatDuration, formatNumber } from '../../format.ts'
import { text } from '../../text/index.ts'

const list = text.deploymentList

/** Requests of 24 hours, when they came, and how long they waited for the first token. */
export function RecentRequests({ use }: { use: DeploymentUse }) {
  const { requests, errors, first_token_p95_ms: firstToken, tokens_per_second: rates } = use
  const most = Math.max(...rates)
  return (
    <>
      <p className="flex items-center gap-2">
        {formatNumber(requests)}
        {errors > 0 && <span className="text-bad">{list.errors(formatNumber(errors))}</span>}
        {most > 0 && (
          <svg aria-hidden viewBox="0 0 72 16" className="h-4 w-18 fill-accent">
            {rates.map((rate, hour) => (
              <rect key={hour} x={hour * 3} y={16 - (16 * rate) / most} width="2" height="16" />
            ))}
          </svg>
        )}
      </p>
      {firstToken !== null && (
        <p className="truncate text-[0.8125rem] text-muted" title={list.firstTokenWords}>
          {list.firstToken(formatDuration(firstToken))}
        </p>
      )}
    </>
  )
}
