import { queryOptions, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { callApi } from '../../api/client.ts'
import { Badge } from '../../components/badge.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Section } from '../../components/page.tsx'
import { formatMoment } from '../../format.ts'
import { text } from '../../text/index.ts'

const anomaliesQuery = queryOptions({
  queryKey: ['billing', 'anomalies'],
  queryFn: ({ signal }) => callApi('GET', '/v1/billing/anomalies', { signal }),
  refetchInterval: 60_000,
})

/** The open anomalies of the usage checks, newest first. */
export function Findings() {
  const query = useQuery(anomaliesQuery)
  return (
    <Section id="findings" flush title={text.findings.anomaliesTitle}>
      <Loaded query={query} rows={2}>
        {(anomalies) => (
          <ul className="divide-y">
            {anomalies.map((anomaly) => (
              <li key={anomaly.id} className="grid gap-1.5 px-5 py-4">
                <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
                  <Badge tone="warn">{text.findings.anomalyKind(anomaly.kind)}</Badge>
                  <span className="text-[0.8125rem] text-muted">
                    {text.findings.since(formatMoment(anomaly.detected_at))}
                  </span>
                  {anomaly.deployment_id && (
                    <Link
                      to="/deployments/$deploymentId"
                      params={{ deploymentId: anomaly.deployment_id }}
                      className="ml-auto text-[0.8125rem] font-medium text-accent hover:underline"
                    >
                      {text.findings.toDeployment}
                    </Link>
                  )}
                </div>
                <p className="wrap-anywhere">{anomaly.message}</p>
              </li>
            ))}
          </ul>
        )}
      </Loaded>
    </Section>
  )
}
