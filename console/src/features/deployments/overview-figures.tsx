import { useQuery } from '@tanstack/react-query'
import type { Deployment, DeploymentStatistics } from '../../contract.ts'
import { Figure, Section } from '../../components/page.tsx'
import { Skeleton } from '../../components/states.tsx'
import { formatDuration, formatNumber, formatPercent } from '../../format.ts'
import { text } from '../../text/index.ts'
import { statisticsQuery } from './queries.ts'

const words = text.deploymentParts

/** The requests of the last hour in five numbers. */
export function OverviewFigures({ deployment }: { deployment: Deployment }) {
  const { data } = useQuery(statisticsQuery(deployment.id, '1h', false))
  const shown = (value: (statistics: DeploymentStatistics) => string) =>
    data ? value(data) : <Skeleton className="my-1 h-5 w-16" />
  return (
    <Section title={words.lastHour}>
      <dl className="grid grid-cols-2 gap-4 sm:grid-cols-5">
        <Figure label={words.requests} value={shown(({ requests }) => formatNumber(requests))} />
        <Figure
          label={words.errors}
          value={shown(({ errors }) => formatNumber(errors))}
          hint={
            data && data.errors > 0 && text.statistics.errorShare(formatPercent(data.errors / data.requests))
          }
        />
        <Figure
          label={words.firstTokenSlow}
          value={shown(({ time_to_first_byte_ms: time }) =>
            time === null ? words.noValue : formatDuration(time.p95),
          )}
        />
        <Figure label={words.tokensPerSecond} value={shown(findTokensPerSecond)} />
        <Figure
          label={words.waitingNow}
          value={shown(({ series }) => formatNumber(series.at(-1)?.waiting ?? 0))}
        />
      </dl>
    </Section>
  )
}

/** Output tokens per second since the first minute with tokens. */
function findTokensPerSecond({ series, to, output_tokens: tokens }: DeploymentStatistics): string {
  const first = series.find(({ output_tokens: some }) => some > 0)
  if (first === undefined) return words.noValue
  const seconds = Math.max(1, (Date.parse(to) - Date.parse(first.at)) / 1000)
  return formatNumber(Math.max(0.1, Math.round((tokens / seconds) * 10) / 10))
}
