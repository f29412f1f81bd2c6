import { Badge } from '../../components/badge.tsx'
import type { Tone } from '../../components/badge.tsx'
import { Section } from '../../components/page.tsx'
import { Cell, HeadCell, Table } from '../../components/table.tsx'
import type { Machine } from '../../contract.ts'
import { formatBytes, formatMoment, formatRelative } from '../../format.ts'
import { text } from '../../text/index.ts'

const words = text.server

const tones: Record<Machine['state'], Tone> = { present: 'good', left: 'bad', unknown: 'warn' }

/** The machines of a cluster with their devices, what runs where, and those that have left. */
export function ClusterMachines({ machines }: { machines: readonly Machine[] }) {
  return (
    <Section title={words.machines} flush>
      <Table
        label={words.machines}
        head={
          <>
            <HeadCell>{words.machine}</HeadCell>
            <HeadCell>{words.status}</HeadCell>
            <HeadCell>{words.version}</HeadCell>
            <HeadCell>{words.devices}</HeadCell>
            <HeadCell>{words.runsHere}</HeadCell>
          </>
        }
      >
        {machines.map((machine) => (
          <tr key={`${machine.runtime}/${machine.address}`}>
            <Cell className="font-medium whitespace-nowrap">{machine.address}</Cell>
            <Cell className="whitespace-nowrap">
              <Badge tone={tones[machine.state]}>{words.machineStates[machine.state]}</Badge>
              {machine.state !== 'present' && machine.last_seen_at !== null && (
                <p className="text-[0.8125rem] text-muted">
                  <time dateTime={machine.last_seen_at} title={formatMoment(machine.last_seen_at)}>
                    {words.lastSeen(formatRelative(machine.last_seen_at))}
                  </time>
                </p>
              )}
            </Cell>
            <Cell className="tabular">{machine.version ?? words.unknown}</Cell>
            <Cell className="min-w-56">
              <Devices machine={machine} />
            </Cell>
            <Cell className="min-w-40">
              {machine.instances.map(({ model_name: name }, row) => (
                <p key={row}>{name}</p>
              ))}
            </Cell>
          </tr>
        ))}
      </Table>
    </Section>
  )
}

function Devices({ machine }: { machine: Machine }) {
  const { gpus, cpu_count: cpus, memory_bytes: total, free_bytes: free } = machine
  return (
    <>
      {gpus.map((gpu, row) => (
        <p key={row}>
          {gpu.name ?? words.gpu}
          <span className="text-muted">
            {' '}
            {words.freeOf(formatBytes(gpu.free_bytes), formatBytes(gpu.memory_bytes))}
          </span>
        </p>
      ))}
      {cpus !== null && total !== null && free !== null && (
        <p>
          {words.cpus(cpus)}
          <span className="text-muted"> {words.freeOf(formatBytes(free), formatBytes(total))}</span>
        </p>
      )}
    </>
  )
}
