import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { availableParallelism, cpus, release, totalmem } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'

/** The core for the gateways, which run one at a time under load, and the core for everything else. */
export interface Cores {
  gateway: number
  load: number
}

/** Waits for the machine-wide lock, which this process then holds until it exits. */
export async function awaitTurn(): Promise<void> {
  for (let waits = false; !(await takeTurn()); waits = true) {
    if (!waits) process.stderr.write('waiting for another benchmark to end\n')
    await delay(1000)
  }
}

/** Binds an abstract socket, which the kernel assigns to one process and frees at its exit. */
function takeTurn(): Promise<boolean> {
  return new Promise((resolve) => {
    createServer()
      .once('error', () => resolve(false))
      .listen('\0berth-bench', () => resolve(true))
      .unref()
  })
}

/** Picks the last two cores, as the first handles most interrupts, and pins this process to the load's. */
export function takeCores(): Cores {
  const count = availableParallelism()
  if (count < 2)
    throw new Error('The benchmark needs two cores: one for the gateway and one for everything else.')
  const cores = { gateway: count - 1, load: count - 2 }
  // Child processes, such as PostgreSQL and the load generator, inherit the pinning.
  execFileSync('taskset', ['-acp', String(cores.load), String(process.pid)])
  return cores
}

/** Describes the machine, one fact per line. */
export function describeMachine(): string[] {
  const governor = readOptional('/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor')
  return [
    `${cpus()[0]?.model.trim() ?? 'unknown CPU'}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB`,
    `Linux ${release()}${governor === null ? '' : `, governor ${governor}`}`,
    `Node ${process.versions.node} for every target that runs on Node`,
  ]
}

/** The load average of the last minute. */
export function readLoadAverage(): number {
  return Number(readFileSync('/proc/loadavg', 'utf8').split(' ')[0])
}

/** The first line of a program's version output. */
export function readVersion(command: string, args: string[]): string {
  // nginx prints it on stderr.
  const output = execFileSync('sh', ['-c', '"$0" "$@" 2>&1', command, ...args], { encoding: 'utf8' })
  return (output.split('\n')[0] ?? '').trim()
}

function readOptional(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return null
  }
}
