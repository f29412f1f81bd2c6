import { useQuery } from '@tanstack/react-query'
import type { AuditLogItem } from '../../../contract.ts'
import { Badge } from '../../../components/badge.tsx'
import { Cell, HeadCell, Table } from '../../../components/table.tsx'
import { describeUserAgent } from '../../../domain/session/user-agent.ts'
import { formatInstant } from '../../../format.ts'
import { text } from '../../../text/index.ts'
import { membersQuery } from '../../../domain/members/queries.ts'
import { describeFacts } from './describe-facts.ts'

const words = text.audit

/** The rows of the audit log. */
export function AuditTable({ items }: { items: readonly AuditLogItem[] }) {
  const { data: members = [] } = useQuery(membersQuery)
  const names = new Map(members.map(({ user_id, name }) => [user_id, name]))
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
            <div className="max-w-96 text-[0.8125rem] wrap-anywhere text-muted">{describeTarget(item)}</div>
            <div className="max-w-80 text-[0.8125rem] wrap-anywhere text-muted sm:hidden">
              {describeActor(item, names)}, {formatInstant(item.at)}
            </div>
          </Cell>
          <Cell className="hidden max-w-64 truncate sm:table-cell">
            <span title={item.actor?.email}>{describeActor(item, names)}</span>
          </Cell>
          <Cell className="hidden text-muted lg:table-cell">
            <div>{item.address}</div>
            <div className="max-w-56 truncate text-[0.8125rem]" title={item.user_agent ?? undefined}>
              {item.user_agent !== null && describeUserAgent(item.user_agent)}
            </div>
          </Cell>
          <Cell className="hidden whitespace-nowrap text-muted sm:table-cell">{formatInstant(item.at)}</Cell>
        </tr>
      ))}
    </Table>
  )
}

function describeActor({ actor, address }: AuditLogItem, names: ReadonlyMap<number, string>): string {
  if (actor) return names.get(actor.user_id) ?? actor.email
  return address === null ? words.server : words.visitor
}

/** The name of the target, and what changed about it. */
function describeTarget({ target, details }: AuditLogItem): string {
  const name = target?.name ?? (target?.type === 'route' ? target.id : null)
  return [name, ...describeFacts(details)].filter(Boolean).join(' · ')
}
