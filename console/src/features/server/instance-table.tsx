import { Link } from '@tanstack/react-router'
import { Badge } from '../../components/badge.tsx'
import type { Tone } from '../../components/badge.tsx'
import { Cell, HeadCell, Table } from '../../components/table.tsx'
import type { PlacedInstance } from '../../contract.ts'
import { formatBytes, formatMoment, formatRelative } from '../../format.ts'
import { text } from '../../text/index.ts'

const words = text.server

interface InstanceTableProps {
  label: string
  items: readonly (PlacedInstance & { reason?: string | null })[]
  /** Leaves out the organization, which is the same in all rows. */
  ofOne?: boolean
}

/** Instances of any organization, and why they wait, if they do. */
export function InstanceTable({ label, items, ofOne = false }: InstanceTableProps) {
  const waits = items.some(({ reason }) => reason !== undefined)
  return (
    <Table
      label={label}
      head={
        <>
          <HeadCell>{words.model}</HeadCell>
          {!ofOne && <HeadCell>{words.organization}</HeadCell>}
          <HeadCell>{words.type}</HeadCell>
          <HeadCell numeric>{words.memory}</HeadCell>
          <HeadCell>{waits ? words.reason : words.status}</HeadCell>
          <HeadCell>{words.since}</HeadCell>
        </>
      }
    >
      {items.map((item, row) => (
        <tr key={row}>
          <Cell className="font-medium">{item.model_name}</Cell>
          {!ofOne && (
            <Cell>
              <OrganizationLink id={item.organization_id} name={item.organization_name} />
            </Cell>
          )}
          <Cell className="whitespace-nowrap">{item.instance_type}</Cell>
          <Cell numeric className="whitespace-nowrap">
            {item.memory_bytes !== null && formatBytes(item.memory_bytes)}
          </Cell>
          <Cell className={waits ? 'min-w-56' : ''}>
            {waits ? (item.reason ?? words.unknown) : <InstanceStatus status={item.status} />}
          </Cell>
          <Cell className="whitespace-nowrap text-muted">
            <time dateTime={item.since} title={formatMoment(item.since)}>
              {formatRelative(item.since)}
            </time>
          </Cell>
        </tr>
      ))}
    </Table>
  )
}

/** An organization by its name. */
export function OrganizationLink({ id, name }: { id: number; name: string }) {
  return (
    <Link
      to="/server/{-$view}"
      params={{ view: 'organizations' }}
      search={{ organization: String(id) }}
      className="font-medium hover:underline"
    >
      {name}
    </Link>
  )
}

const tones: Record<string, Tone> = { running: 'good', releasing: 'neutral', draining: 'neutral' }

function InstanceStatus({ status }: { status: string }) {
  return <Badge tone={tones[status] ?? 'busy'}>{words.instanceStatuses[status] ?? words.starting}</Badge>
}
