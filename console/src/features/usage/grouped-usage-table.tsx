import { useQuery } from '@tanstack/react-query'
import type { UseQueryResult } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useCan } from '../../api/session.ts'
import { Loaded } from '../../components/loaded.tsx'
import { Progress } from '../../components/progress.tsx'
import { EmptyState } from '../../components/states.tsx'
import { HeadCell, Cell, Table } from '../../components/table.tsx'
import { nameDeployment } from '../../domain/deployments/names.ts'
import { organizationDeploymentsQuery, ownDeploymentsQuery } from '../../domain/deployments/queries.ts'
import { sumDecimals } from '../../domain/billing/decimal.ts'
import { formatMoney, formatPercent } from '../../format.ts'
import { text } from '../../text/index.ts'
import { sumByMeter } from './breakdown.ts'
import { formatQuantity } from './format-quantity.ts'
import { groupItems } from './group-items.ts'
import type { UsageRows } from './group-items.ts'
import type { GroupedUsage, UsageGroup } from './groups.ts'
import { groupedUsageQuery } from './queries.ts'
import { daysBefore, isCompared } from './range.ts'
import { TotalRow } from './total-row.tsx'

interface GroupedUsageTableProps {
  query: UseQueryResult<GroupedUsage>
  group: UsageGroup
}

/** Usage in groups, the most expensive first. */
export function GroupedUsageTable({ query, group }: GroupedUsageTableProps) {
  const canManageBilling = useCan()('manageBilling')
  return (
    <>
      {!canManageBilling && <p className="text-muted">{text.usage.ownOnly}</p>}
      <Loaded query={query} rows={4}>
        {(usage) =>
          usage.items.length === 0 ? (
            <EmptyState title={text.usage.noneInRange} />
          ) : (
            <div className="-mx-5">
              <GroupTable usage={usage} group={group} />
            </div>
          )
        }
      </Loaded>
    </>
  )
}

function GroupTable({ usage, group }: { usage: GroupedUsage; group: UsageGroup }) {
  const { items, currency } = usage
  const before = useAmountsBefore(usage, group)
  const names = useDeploymentNames(group)
  const total = Number(sumDecimals(items.map((item) => item.estimated_amount)))
  return (
    <Table
      label={text.usage.by[group]}
      head={
        <>
          <HeadCell>{text.usage.groupHeads[group]}</HeadCell>
          <HeadCell numeric>{text.usage.share}</HeadCell>
          <HeadCell numeric>{text.usage.amount}</HeadCell>
        </>
      }
    >
      {groupItems(items).map((rows) => (
        <GroupRow
          key={rows.key}
          rows={rows}
          name={names.get(rows.key) ?? rows.label}
          share={total > 0 ? Number(rows.amount) / total : 0}
          before={before?.get(rows.key) ?? (before && '0')}
          currency={currency}
        />
      ))}
      <TotalRow amounts={items.map((item) => item.estimated_amount)} currency={currency} columns={2} />
    </Table>
  )
}

/** The amounts of as many days before, by the key of the group; undefined where they are not comparable. */
function useAmountsBefore(usage: GroupedUsage, group: UsageGroup): ReadonlyMap<string, string> | undefined {
  const isWanted = isCompared({ from: usage.from, to: usage.to })
  const { data } = useQuery({ ...groupedUsageQuery(daysBefore(usage), group), enabled: isWanted })
  return isWanted && data
    ? new Map(groupItems(data.items).map(({ key, amount }) => [key, amount]))
    : undefined
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

interface GroupRowProps {
  rows: UsageRows
  name: string
  /** Of the total amount, from 0 to 1 */
  share: number
  /** The amount of as many days before */
  before: string | undefined
  currency: string
}

/** One group: its quantities by meter, its share of the total, and its amount. */
function GroupRow({ rows, name, share, before, currency }: GroupRowProps) {
  const { items, deploymentId, amount } = rows
  const quantities = sumByMeter(items).map(
    ({ meter, quantity, unit }) => `${text.usage.meter(meter)}: ${formatQuantity(quantity, unit)}`,
  )
  return (
    <tr>
      <th scope="row" className="px-5 py-3 font-medium wrap-anywhere">
        {deploymentId ? (
          <Link
            to="/deployments/$deploymentId"
            params={{ deploymentId }}
            className="text-accent hover:underline"
          >
            {name} <span className="font-mono text-[0.8125rem] font-normal">{deploymentId}</span>
          </Link>
        ) : (
          name
        )}
        <span className="block text-[0.8125rem] font-normal text-muted">{quantities.join(' · ')}</span>
      </th>
      <Cell className="sm:w-40">
        <span className="flex items-center gap-3">
          <Progress label={text.usage.shareOf(name)} value={share} className="flex-1 max-sm:hidden" />
          <span className="tabular w-10 text-right max-sm:w-full">{formatPercent(share)}</span>
        </span>
      </Cell>
      <Cell numeric className="font-medium">
        {formatMoney(amount, currency)}
        {before !== undefined && (
          <span className="block text-[0.8125rem] font-normal text-muted">
            {text.comparison.before(formatMoney(before, currency))}
          </span>
        )}
      </Cell>
    </tr>
  )
}
