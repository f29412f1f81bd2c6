import { execFileSync } from 'node:child_process'
import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { query } from '../../database/scratch.ts'
import { signal } from '../../support/process.ts'
import { killMember, restartMember } from '../fleet.ts'
import type { Member } from '../fleet.ts'
import type { World } from './world.ts'

/** Something that breaks, and heals while `inject` runs. */
export interface Fault {
  component: 'API' | 'worker' | 'database' | 'engine' | 'disk' | 'clock' | 'descriptors'
  name: string
  /** True if the fault cuts requests that are under way: those of a killed process or engine */
  breaksInference: boolean
  inject(world: World): Promise<void>
}

const second = 1_000
const find = ({ members }: World, role: Member['role']): Member =>
  members.find((member) => member.role === role)!
const pidOf = ({ server }: Member): number => server.child.pid!

async function freeze(member: Member, milliseconds: number): Promise<void> {
  signal(pidOf(member), 'SIGSTOP')
  await delay(milliseconds)
  signal(pidOf(member), 'SIGCONT')
}

async function kill(member: Member): Promise<void> {
  await killMember(member)
  await restartMember(member)
}

/** Restarts as an operator does: SIGTERM, then another process. */
async function restart(member: Member): Promise<void> {
  member.server.child.kill('SIGTERM')
  await member.server.exited
  await restartMember(member)
}

/** Sets the clock of a process an hour forward for a while. */
async function stepClock(member: Member): Promise<void> {
  signal(pidOf(member), 'SIGUSR2')
  await delay(20 * second)
  signal(pidOf(member), 'SIGUSR2')
}

/** Leaves a process no descriptors for a while. */
async function exhaustDescriptors(member: Member): Promise<void> {
  const pid = String(pidOf(member))
  const limit = execFileSync('prlimit', ['--pid', pid, '--nofile', '--output', 'SOFT', '--noheadings'])
    .toString()
    .trim()
  execFileSync('prlimit', ['--pid', pid, '--nofile=24:'])
  await delay(5 * second)
  execFileSync('prlimit', ['--pid', pid, `--nofile=${limit}:`])
}

/** Fills the disk of a process's DATA_DIR, which is a small separate filesystem. */
async function fillDisk({ settings }: Member): Promise<void> {
  const ballast = join(settings['DATA_DIR']!, 'ballast')
  const file = openSync(ballast, 'w')
  const fill = (bytes: number) => {
    try {
      while (writeSync(file, Buffer.alloc(bytes)) > 0);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    }
  }
  for (const bytes of [2 ** 20, 4096, 1]) fill(bytes)
  await delay(5 * second)
  closeSync(file)
  rmSync(ballast)
}

async function failOver(world: World): Promise<void> {
  const { switchProxy } = await world.database.failOver()
  await waitUntilReadOnly(await find(world, 'api').server.listening)
  switchProxy()
}

/** Waits until an API has connected to the old primary, which is a standby. */
async function waitUntilReadOnly(url: string): Promise<void> {
  const read = async () => ((await (await fetch(`${url}/readyz`)).json()) as { database?: string }).database
  while (!(await read().catch(() => undefined))?.startsWith('read-only')) await delay(50)
}

export const faults: readonly Fault[] = [
  { component: 'API', name: 'SIGKILL', breaksInference: true, inject: (world) => kill(find(world, 'api')) },
  {
    component: 'API',
    name: 'restarted',
    breaksInference: false,
    inject: (world) => restart(find(world, 'api')),
  },
  {
    component: 'API',
    name: 'frozen 10 s',
    breaksInference: false,
    inject: (world) => freeze(find(world, 'api'), 10 * second),
  },
  {
    component: 'worker',
    name: 'SIGKILL',
    breaksInference: false,
    inject: (world) => kill(find(world, 'worker')),
  },
  {
    component: 'worker',
    name: 'frozen 20 s',
    breaksInference: false,
    inject: (world) => freeze(find(world, 'worker'), 20 * second),
  },
  {
    component: 'database',
    name: 'frozen 25 s',
    breaksInference: false,
    async inject({ database }) {
      await database.freeze()
      await delay(25 * second)
      await database.thaw()
    },
  },
  {
    component: 'database',
    name: 'away 25 s',
    breaksInference: false,
    async inject({ database }) {
      await database.disconnect()
      await delay(25 * second)
      await database.connect()
    },
  },
  {
    component: 'database',
    name: 'connections ended ×10',
    breaksInference: false,
    async inject({ database }) {
      for (let time = 0; time < 10; time++) {
        await query(
          database.primaryUrl(),
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'berth%'`,
        )
        await delay(second)
      }
    },
  },
  {
    component: 'database',
    name: 'standby promoted ×10',
    breaksInference: false,
    async inject(world) {
      for (let time = 0; time < 10; time++) {
        await failOver(world)
        await delay(2 * second)
      }
    },
  },
  {
    component: 'engine',
    name: 'crashed',
    breaksInference: true,
    async inject({ simulator }) {
      for (const { uid, status } of simulator.models.values()) {
        if (status === 'READY') simulator.crash(uid, 'killed')
      }
    },
  },
  {
    component: 'disk',
    name: 'DATA_DIR full 5 s',
    breaksInference: false,
    inject: (world) => fillDisk(find(world, 'api')),
  },
  {
    component: 'clock',
    name: 'hour ahead 20 s',
    breaksInference: false,
    inject: (world) => stepClock(find(world, 'worker')),
  },
  {
    component: 'descriptors',
    name: 'none left 5 s',
    breaksInference: false,
    inject: (world) => exhaustDescriptors(find(world, 'api')),
  },
]
