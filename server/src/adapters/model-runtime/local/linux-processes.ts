import { readdir, readFile } from 'node:fs/promises'
import pLimit from 'p-limit'
import { readKernelFile, unlessGone } from './files.ts'

// What Linux tells of the processes of this host, in `/proc`.

/** With few file descriptors, the files of all processes would use them up. */
const filesAtOnce = 8

/** Looks at each process of this host, by its id, and returns what was found. */
export async function searchProcesses<Found>(look: (pid: number) => Promise<Found[]>): Promise<Found[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  return (await pLimit(filesAtOnce).map(pids, look)).flat()
}

/** The command line of a process; null if it has ended. */
export async function readArguments(pid: number): Promise<string[] | null> {
  const line = await unlessGone(readFile(`/proc/${pid}/cmdline`, 'utf8'), null)
  return line?.split('\0') ?? null
}

/** State, parent, process group, session and more, from proc_pid_stat(5). Empty if the process has ended. */
export async function readStatus(pid: number): Promise<string[]> {
  const stat = await readKernelFile(`/proc/${pid}/stat`)
  return stat === '' ? [] : stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}
