import type { AuditLogItem } from '../../../contract.ts'
import { Badge } from '../../../components/badge.tsx'
import { Cell, HeadCell, Table } from '../../../components/table.tsx'
import { formatMoment } from '../../../format.ts'
import { text } from '../../../text/index.ts'

const words = text.audit

/** The rows of the audit log. */
export function AuditTable({ items }: { items: readonly AuditLogItem[] }) {
  return (
    <Table
      label={words.title}
      head={
        <>
          <HeadCell>{words.action}</HeadCell>
          <HeadCell className="hidden sm:table-cell">{words.actor}</HeadCell>
          <HeadCell className="hidden lg:table-cell">{words.address}</HeadCell>
          <HeadCell className="hidden sm:table-cell">{words.at}</HeadCell>
        </>
      }
    >
      {items.map((item) => (
        <tr key={item.id}>
          <Cell>
            <div className="flex flex-wrap items-center gap-2">
              <span className="font-medium">{words.actions[item.action]}</span>
              {item.result === 'refused' && <Badge tone="warn">{words.refused}</Badge>}
            </div>
            <div className="max-w-80 truncate text-[0.8125rem] text-muted" title={describeTarget(item)}>
              {describeTarget(item)}
            </div>
            <div className="max-w-80 truncate text-[0.8125rem] text-muted sm:hidden">
              {describeActor(item)}, {formatMoment(item.at)}
            </div>
          </Cell>
          <Cell className="hidden max-w-64 truncate sm:table-cell">
            <span title={describeActor(item)}>{describeActor(item)}</span>
          </Cell>
          <Cell className="hidden text-muted lg:table-cell">
            <div>{item.address}</div>
            <div className="max-w-56 truncate text-[0.8125rem]" title={item.user_agent ?? undefined}>
              {item.user_agent}
            </div>
          </Cell>
          <Cell className="hidden whitespace-nowrap text-muted sm:table-cell">{formatMoment(item.at)}</Cell>
        </tr>
      ))}
    </Table>
  )
}

function describeActor({ actor, address }: AuditLogItem): string {
  return actor?.email ?? (address === null ? words.server : words.visitor)
}

/** The name of the target, and what changed about it. */
function describeTarget({ target, details }: AuditLogItem): string {
  const facts = Object.entries(details).map(
    ([name, value]) => `${name.replaceAll('_', ' ')}: ${describeFact(value)}`,
  )
  return [target?.name ?? (target?.type === 'route' ? target.id : null), ...facts].filter(Boolean).join(' · ')
}

function describeFact(value: unknown): string {
  if (typeof value === 'string') return value
  if (typeof value === 'object' && value !== null && 'from' in value && 'to' in value) {
    return `${String(value.from)} → ${String(value.to)}`
  }
  return JSON.stringify(value)
}
