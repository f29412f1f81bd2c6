import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { availableParallelism, cpus, release, totalmem } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'

/** The core that the gateways are pinned to, one at a time under load, and the one for everything else. */
export interface Cores {
  gateway: number
  load: number
}

/** Waits until no other benchmark measures on this machine; from then on this one is known to, until its process ends. */
export async function awaitTurn(): Promise<void> {
  for (let waits = false; !(await takeTurn()); waits = true) {
    if (!waits) process.stderr.write('waiting for another benchmark to end\n')
    await delay(1000)
  }
}

/** True once the name is ours: an abstract socket, which the kernel gives to one and frees at his end. */
function takeTurn(): Promise<boolean> {
  return new Promise((resolve) => {
    createServer()
      .once('error', () => resolve(false))
      .listen('\0berth-bench', () => resolve(true))
  })
}

/** The last two cores of the machine: the first gets most of its interrupts. Pins this process to the load's core. */
export function takeCores(): Cores {
  const count = availableParallelism()
  if (count < 2)
    throw new Error('The benchmark needs two cores: one for the gateway and one for everything else.')
  const cores = { gateway: count - 1, load: count - 2 }
  // What is started from here on, PostgreSQL and the load among them, inherits it.
  execFileSync('taskset', ['-acp', String(cores.load), String(process.pid)])
  return cores
}

/** One line each of what the figures depend on. */
export function describeMachine(): string[] {
  const governor = readOptional('/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor')
  return [
    `${cpus()[0]?.model.trim() ?? 'unknown CPU'}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB`,
    `Linux ${release()}${governor === null ? '' : `, governor ${governor}`}`,
    `Node ${process.versions.node} for every target that runs on Node`,
  ]
}

/** The load of the last minute, to tell a quiet machine from a busy one. */
export function readLoadAverage(): number {
  return Number(readFileSync('/proc/loadavg', 'utf8').split(' ')[0])
}

/** The first line that a program says about its version. */
export function readVersion(command: string, args: string[]): string {
  // nginx says it on stderr.
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
