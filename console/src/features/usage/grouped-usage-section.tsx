import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Fragment } from 'react'
import { ApiError } from '../../api/client.ts'
import { useCan } from '../../api/session.ts'
import { classNames } from '../../class-names.ts'
import { Section } from '../../components/page.tsx'
import { EmptyState, ErrorMessage, ErrorState, SkeletonRows } from '../../components/states.tsx'
import { HeadCell, Cell, Table } from '../../components/table.tsx'
import { nameDeployment } from '../../domain/deployments/names.ts'
import { organizationDeploymentsQuery, ownDeploymentsQuery } from '../../domain/deployments/queries.ts'
import { sumDecimals } from '../../domain/billing/decimal.ts'
import { formatMoney } from '../../format.ts'
import { text } from '../../text/index.ts'
import { sumByMeter } from './breakdown.ts'
import { formatQuantity } from './format-quantity.ts'
import { groupItems } from './group-items.ts'
import type { UsageRows } from './group-items.ts'
import type { GroupedUsage, UsageGroup } from './groups.ts'
import { groupedUsageQuery } from './queries.ts'
import type { RequestedDays } from './range.ts'
import { TotalRow } from './total-row.tsx'
import { UsageHeader } from './usage-header.tsx'

/** Usage of the selected days by member, deployment or model, as a table. */
export function GroupedUsageSection({ days, group }: { days: RequestedDays; group: UsageGroup }) {
  const { data: usage, error, isPlaceholderData, refetch } = useQuery(groupedUsageQuery(days, group))
  const canManageBilling = useCan()('manageBilling')
  const failure = usage === undefined ? error : null
  const isRefused = failure instanceof ApiError && failure.status === 422
  const isUnused = usage?.items.length === 0
  return (
    <Section>
      <div className="grid grid-cols-[minmax(0,1fr)] gap-5">
        <UsageHeader
          group={group}
          requested={days}
          shown={isPlaceholderData ? undefined : usage}
          isUnused={isUnused}
        />
        {!canManageBilling && <p className="text-muted">{text.usage.ownOnly}</p>}
        {isRefused && <ErrorMessage error={failure} />}
        {failure && !isRefused && <ErrorState error={failure} onRetry={() => void refetch()} />}
        {usage === undefined && !failure && <SkeletonRows count={4} />}
        {usage && isUnused && <EmptyState title={text.usage.noneInRange} />}
        {usage && !isUnused && (
          <div className={classNames('-mx-5 transition-opacity', isPlaceholderData && 'opacity-50')}>
            <GroupTable usage={usage} group={group} />
          </div>
        )}
      </div>
    </Section>
  )
}

function GroupTable({ usage: { items, currency }, group }: { usage: GroupedUsage; group: UsageGroup }) {
  const names = useDeploymentNames(group)
  return (
    <Table
      label={text.usage.by[group]}
      head={
        <>
          <HeadCell>{text.usage.groupHeads[group]}</HeadCell>
          <HeadCell numeric>{text.usage.quantity}</HeadCell>
          <HeadCell numeric>{text.usage.amount}</HeadCell>
        </>
      }
    >
      {groupItems(items).map((rows) => (
        <GroupRows key={rows.key} rows={rows} name={names.get(rows.key) ?? rows.label} currency={currency} />
      ))}
      <TotalRow amounts={items.map((item) => item.estimated_amount)} currency={currency} columns={2} />
    </Table>
  )
}

/** What people call the deployments that are not terminated, by id. */
function useDeploymentNames(group: UsageGroup): ReadonlyMap<string, string> {
  const seesAll = useCan()('manageBilling')
  const { data } = useQuery({
    ...(seesAll ? organizationDeploymentsQuery : ownDeploymentsQuery),
    enabled: group === 'deployment',
  })
  return new Map(data?.items.map((deployment) => [deployment.id, nameDeployment(deployment)]))
}

/** One group: its total, then its quantities by meter. */
function GroupRows({ rows, name, currency }: { rows: UsageRows; name: string; currency: string }) {
  const sums = sumByMeter(rows.items)
  return (
    <Fragment>
      <tr className="border-b-0">
        <th scope="row" colSpan={2} className="px-5 py-3 font-medium wrap-anywhere">
          {name}
          {rows.deploymentId && (
            <Link
              to="/deployments/$deploymentId"
              params={{ deploymentId: rows.deploymentId }}
              className="ml-2 font-mono text-[0.8125rem] font-normal text-accent hover:underline"
            >
              {rows.deploymentId}
            </Link>
          )}
        </th>
        <Cell numeric className="font-medium">
          {formatMoney(sumDecimals(rows.items.map((item) => item.estimated_amount)), currency)}
        </Cell>
      </tr>
      {sums.map((sum, index) => (
        <tr key={sum.meter} className={classNames('text-muted', index < sums.length - 1 && 'border-b-0')}>
          <td className="px-5 pt-0 pb-3 pl-9">{text.usage.meter(sum.meter)}</td>
          <td className="tabular px-5 pt-0 pb-3 text-right whitespace-nowrap">
            {formatQuantity(sum.quantity, sum.unit)}
          </td>
          <td className="tabular px-5 pt-0 pb-3 text-right">{formatMoney(sum.amount, currency)}</td>
        </tr>
      ))}
    </Fragment>
  )
}
