import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import { listPlacedOn } from '../../features/operators/read-installation.ts'
import { formatFileSize } from '../../base/format-bytes.ts'
import type { ClusterMachine, JoinInstructions, OwnCluster } from '../../ports/own-cluster.ts'
import type { Application } from '../../wiring/application.ts'
import type { Shell } from './shell.ts'

/** Adds the commands that start and end a cluster of several machines. */
export function addClusterCommands(program: Command, shell: Shell): void {
  const cluster = program
    .command('cluster')
    .description('Run models on several machines, which join with one command')
  cluster
    .command('start')
    .description('make this machine the first of a cluster, and print how others join')
    .option(
      '--address <address>',
      'IPv4 address by which the others reach this machine (default: its private one)',
    )
    .option('--port <port>', 'port of the cluster, and with it the next two (default: 9997)', parsePort)
    .action((options: { address?: string; port?: number }) =>
      withCluster(shell, async (own) => {
        const request = { address: options.address ?? null, port: options.port ?? null }
        const started = await own.start(request, (line) => shell.print(line))
        if ('refusal' in started) shell.fail(started.refusal)
        else printJoin(shell, started)
      }),
    )
  cluster
    .command('stop')
    .description('end the cluster on this machine')
    .option('--force', 'also while deployments run on it, which then fail')
    .action(({ force = false }: { force?: boolean }) =>
      withCluster(shell, async (own, application) => {
        const placed = force ? 0 : await countPlaced(application)
        if (placed > 0) {
          shell.fail(
            `${placed === 1 ? 'An instance has' : `${placed} instances have`} hardware of the cluster. Put the deployments to sleep or terminate them first, or use --force.`,
          )
          return
        }
        shell.print((await own.stop()) ? 'Stopped.' : 'There is no cluster.')
      }),
    )
  cluster
    .command('status')
    .description('show the programs and the machines of the cluster, and how others join')
    .action(() =>
      withCluster(shell, async (own, application) => {
        const state = await own.read()
        if (state === null) return shell.print('There is no cluster.')
        shell.print(`Supervisor: ${state.supervisor}. Worker of this machine: ${state.worker}.`)
        const machines = await findRuntime(application)?.listMachines?.()
        shell.printRows((machines ?? []).map(toRow))
        printJoin(shell, own.describeJoin()!)
      }),
    )
}

function parsePort(text: string): number {
  const port = Number(text)
  if (/^\d{4,5}$/.test(text) && port >= 1024 && port <= 65_533) return port
  throw new InvalidArgumentError('It must be a port from 1024 to 65533.')
}

function withCluster(
  shell: Shell,
  work: (own: OwnCluster, application: Application) => Promise<void>,
): Promise<void> {
  return shell.withApplication(async (application) => {
    const own = application.runtimes.ownCluster
    if (own !== undefined) return work(own, application)
    shell.fail('This server runs no engines on its own host, so it begins no cluster there: see RUNTIME.')
  }, 'error')
}

/** The runtime of the cluster, while there is one */
function findRuntime({ runtimes }: Application) {
  return runtimes.all.find(({ ownCluster }) => ownCluster !== undefined)
}

async function countPlaced(application: Application): Promise<number> {
  const runtime = findRuntime(application)
  return runtime === undefined ? 0 : (await listPlacedOn(application, runtime.name)).length
}

function printJoin(shell: Shell, { commands, notes }: JoinInstructions): void {
  for (const { machines, command } of commands) {
    shell.print(`\nOn a machine ${machines}, with its own address:\n\n  ${command}`)
  }
  shell.print('')
  for (const note of notes) shell.print(`- ${note}`)
}

function toRow({
  address,
  state,
  version,
  lastSeenAt,
  cpuCount,
  memoryBytes,
  gpus,
  engineIds,
}: ClusterMachine) {
  return {
    machine: address,
    state,
    version: version ?? 'unknown',
    'last seen': lastSeenAt?.toISOString() ?? 'unknown',
    CPUs: cpuCount ?? 'unknown',
    memory: memoryBytes === null ? 'unknown' : formatFileSize(memoryBytes),
    GPUs: gpus.map(({ name }) => name ?? 'GPU').join(', ') || 'none',
    instances: engineIds.length,
  }
}
