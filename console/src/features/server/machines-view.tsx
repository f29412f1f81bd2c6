import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Section } from '../../components/page.tsx'
import { Progress } from '../../components/progress.tsx'
import { Notice } from '../../components/states.tsx'
import { Cell, HeadCell, Table } from '../../components/table.tsx'
import type { Machines } from '../../contract.ts'
import { formatBytes } from '../../format.ts'
import { text } from '../../text/index.ts'
import { InstanceTable } from './instance-table.tsx'
import { ClusterMachines } from './cluster-machines.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { findingsQuery, machinesQuery } from './queries.ts'

const words = text.server

/** The hardware, the engines, and what runs where. */
export function MachinesView() {
  const machines = useQuery(machinesQuery)
  return (
    <>
      <Problems />
      <Loaded frame={{ flush: true }} query={machines}>
        {({ machines: members, gpus, instance_types: types, instances, engines }) => (
          <>
            {members.length > 0 && <ClusterMachines machines={members} />}
            {gpus.length > 0 && <Gpus gpus={gpus} />}
            <InstanceTypes types={types} />
            <Section title={words.running} flush>
              {instances.length === 0 ? (
                <p className="p-5 text-muted">{words.nothingRuns}</p>
              ) : (
                <InstanceTable label={words.running} items={instances} />
              )}
            </Section>
            <Engines engines={engines} />
          </>
        )}
      </Loaded>
    </>
  )
}

/** Leads to the doctor's findings, if one of them needs attention. */
function Problems() {
  const { data } = useQuery(findingsQuery)
  const count = data?.items.filter(({ remedy }) => remedy !== null).length ?? 0
  if (count === 0) return null
  return (
    <Notice
      tone="warn"
      title={words.problems(count)}
      action={
        <Button asChild size="small">
          <Link to="/server/{-$view}" params={{ view: 'findings' }}>
            {words.seeFindings}
          </Link>
        </Button>
      }
    />
  )
}

const bytesOf = (bytes: number | null) => (bytes === null ? words.unknown : formatBytes(bytes))

function Gpus({ gpus }: Pick<Machines, 'gpus'>) {
  return (
    <Section title={words.gpus} flush>
      <Table
        label={words.gpus}
        head={
          <>
            <HeadCell>{words.gpu}</HeadCell>
            <HeadCell numeric>{words.total}</HeadCell>
            <HeadCell numeric>{words.promised}</HeadCell>
            <HeadCell numeric>{words.others}</HeadCell>
            <HeadCell numeric>{words.free}</HeadCell>
          </>
        }
      >
        {gpus.map(({ name, memory_bytes: total, promised_bytes: promised, ...gpu }, row) => (
          <tr key={row}>
            <Cell className="min-w-56">
              <p className="font-medium">{words.nthGpu(row)}</p>
              <p className="text-[0.8125rem] text-muted">{name}</p>
              {total !== null && gpu.free_bytes !== null && (
                <Progress
                  label={words.usedShare(words.nthGpu(row))}
                  value={1 - gpu.free_bytes / total}
                  className="my-1 max-w-48"
                />
              )}
              {gpu.obstacle !== null && <p className="text-warn">{gpu.obstacle}</p>}
            </Cell>
            <Cell numeric>{bytesOf(total)}</Cell>
            <Cell numeric>{bytesOf(promised)}</Cell>
            <Cell numeric>
              {bytesOf(gpu.others_bytes)}
              {gpu.others !== null && <p className="text-[0.8125rem] text-muted">{gpu.others}</p>}
            </Cell>
            <Cell numeric className="font-medium">
              {bytesOf(gpu.free_bytes)}
            </Cell>
          </tr>
        ))}
      </Table>
    </Section>
  )
}

function InstanceTypes({ types }: { types: Machines['instance_types'] }) {
  return (
    <Section title={words.types} flush>
      <Table
        label={words.types}
        head={
          <>
            <HeadCell>{words.type}</HeadCell>
            <HeadCell>{words.region}</HeadCell>
            <HeadCell numeric>{words.promised}</HeadCell>
            <HeadCell numeric>{words.freeForEngine}</HeadCell>
          </>
        }
      >
        {types.map((type) => (
          <tr key={`${type.region}/${type.name}`}>
            <Cell className="min-w-56">
              <p className="font-medium">{type.name}</p>
              {type.gpu_count > 0 && (
                <p className="text-[0.8125rem] text-muted">
                  {words.gpuCount(type.gpu_count, type.gpu_model)}
                </p>
              )}
              {type.others !== null && <p className="text-[0.8125rem] text-muted">{type.others}</p>}
              {type.obstacle !== null && <p className="text-warn">{type.obstacle}</p>}
            </Cell>
            <Cell>{type.region}</Cell>
            <Cell numeric>{formatBytes(type.promised_bytes)}</Cell>
            <Cell numeric className="font-medium">
              {formatBytes(type.memory_bytes)}
            </Cell>
          </tr>
        ))}
      </Table>
    </Section>
  )
}

function Engines({ engines }: Pick<Machines, 'engines'>) {
  return (
    <Section title={words.engines} flush>
      <Table
        label={words.engines}
        head={
          <>
            <HeadCell>{words.engine}</HeadCell>
            <HeadCell>{words.version}</HeadCell>
            <HeadCell>{words.use}</HeadCell>
            <HeadCell>{words.why}</HeadCell>
          </>
        }
      >
        {engines.map(({ title, version, used, reason }, row) => (
          <tr key={row}>
            <Cell className="font-medium">{title}</Cell>
            <Cell className="tabular">{version ?? words.unknown}</Cell>
            <Cell>{used ? <Badge tone="good">{words.used}</Badge> : <Badge>{words.unused}</Badge>}</Cell>
            <Cell className="min-w-56 text-muted">{reason}</Cell>
          </tr>
        ))}
      </Table>
    </Section>
  )
}
