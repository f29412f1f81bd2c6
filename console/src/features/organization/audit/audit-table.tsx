import { useQuery } from '@tanstack/react-query'
import { ChevronDown } from 'lucide-react'
import { useId, useState } from 'react'
import type { AuditLogItem } from '../../../contract.ts'
import { classNames } from '../../../class-names.ts'
import { Badge } from '../../../components/badge.tsx'
import { Cell, HeadCell, Table } from '../../../components/table.tsx'
import { describeUserAgent } from '../../../domain/session/user-agent.ts'
import { formatInstant } from '../../../format.ts'
import { text } from '../../../text/index.ts'
import { membersQuery } from '../../../domain/members/queries.ts'
import { Fact } from '../fact.tsx'
import { describeFacts, listFacts } from './describe-facts.ts'

const words = text.audit

/** The rows of the audit log; each opens its details. */
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
        <AuditRow key={item.id} item={item} actor={describeActor(item, names)} />
      ))}
    </Table>
  )
}

function AuditRow({ item, actor }: { item: AuditLogItem; actor: string }) {
  const [isOpen, setOpen] = useState(false)
  const detailsId = useId()
  return (
    <>
      {/* No line between the row and its details */}
      <tr className={isOpen ? 'border-b-0!' : undefined}>
        <Cell>
          <div className="flex flex-wrap items-center gap-2">
            <button
              type="button"
              aria-expanded={isOpen}
              aria-controls={isOpen ? detailsId : undefined}
              className="-ml-1 inline-flex items-center gap-1 rounded-md px-1 text-left font-medium hover:bg-subtle"
              onClick={() => setOpen(!isOpen)}
            >
              <ChevronDown
                aria-hidden
                className={classNames(
                  'size-4 shrink-0 text-muted transition-transform',
                  !isOpen && '-rotate-90',
                )}
              />
              {words.actions[item.action]}
            </button>
            {item.result === 'refused' && <Badge tone="warn">{words.refused}</Badge>}
          </div>
          <div className="max-w-96 pl-5 text-[0.8125rem] wrap-anywhere text-muted">
            {describeTarget(item)}
          </div>
          <div className="max-w-80 pl-5 text-[0.8125rem] wrap-anywhere text-muted sm:hidden">
            {actor}, {formatInstant(item.at)}
          </div>
        </Cell>
        <Cell className="hidden max-w-64 truncate sm:table-cell">
          <span title={item.actor?.email}>{actor}</span>
        </Cell>
        <Cell className="hidden text-muted lg:table-cell">
          <div>{item.address}</div>
          <div className="max-w-56 truncate text-[0.8125rem]" title={item.user_agent ?? undefined}>
            {item.user_agent !== null && describeUserAgent(item.user_agent)}
          </div>
        </Cell>
        <Cell className="hidden whitespace-nowrap text-muted sm:table-cell">{formatInstant(item.at)}</Cell>
      </tr>
      {isOpen && (
        <tr id={detailsId}>
          <td colSpan={4} className="px-5 pb-4 pl-10">
            <Details item={item} actor={actor} />
          </td>
        </tr>
      )}
    </>
  )
}

/** Everything that the log knows about an action, in words. */
function Details({ item, actor }: { item: AuditLogItem; actor: string }) {
  const { target } = item
  const email = item.actor?.email
  return (
    <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-6 gap-y-1 text-[0.8125rem] wrap-anywhere">
      <Fact name={words.at}>{formatInstant(item.at)}</Fact>
      <Fact name={words.actor}>{email && email !== actor ? `${actor} (${email})` : actor}</Fact>
      {item.address !== null && <Fact name={words.address}>{item.address}</Fact>}
      {item.user_agent !== null && (
        <Fact name={words.program}>
          {describeUserAgent(item.user_agent)}
          <span className="block text-muted">{item.user_agent}</span>
        </Fact>
      )}
      {target !== null && (
        <Fact name={words.target}>
          {[words.targets[target.type] ?? target.type, target.name, target.id].filter(Boolean).join(' · ')}
        </Fact>
      )}
      {listFacts(item.details).map(({ name, value }) => (
        <Fact key={name} name={name}>
          {value}
        </Fact>
      ))}
      <Fact name={words.result}>{item.result === 'refused' ? words.refused : words.succeeded}</Fact>
    </dl>
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
