import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync, readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

export interface Program {
  pid: number
  /** Receives stdout and stderr */
  logFile: string
  /** Sends SIGTERM, then SIGKILL after 10 s. Resolves when the process has exited. */
  stop(): Promise<void>
}

export interface ProgramOptions {
  name: string
  core: number
  folder: string
  env?: Record<string, string> | undefined
  command: string
  args: string[]
  /** Stops the program when it is disposed */
  cleanup: AsyncDisposableStack
}

/** Starts a program on one core. `taskset` execs the program, so the pid is the program's. */
export function startProgram(options: ProgramOptions): Program {
  const { name, core, folder, env, command, args, cleanup } = options
  if (cleanup.disposed) throw new Error(`${name} cannot start, because the benchmark is shutting down.`)
  const logFile = join(folder, `${name}.log`)
  const log = openSync(logFile, 'a')
  const { PATH = '', HOME = '' } = process.env
  const child = spawn('taskset', ['-c', String(core), command, ...args], {
    env: { PATH, HOME, ...env },
    stdio: ['ignore', log, log],
    // Ctrl-C reaches only the benchmark, which then stops its programs.
    detached: true,
  })
  closeSync(log)
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  child.once('error', () => {})
  if (child.pid === undefined) throw new Error(`${command} can't be started.`)
  const stop = async () => {
    child.kill('SIGTERM')
    if ((await Promise.race([ended, delay(10_000, 'late', { ref: false })])) !== 'late') return
    child.kill('SIGKILL')
    await ended
  }
  cleanup.defer(stop)
  return { pid: child.pid, logFile, stop }
}

/** Waits until a program listens. Throws with the end of its log if it exits first or takes too long. */
export async function waitForPort(program: Program, port: number, seconds = 60): Promise<void> {
  const deadline = Date.now() + seconds * 1000
  while (!(await accepts(port))) {
    if (Date.now() > deadline || !isAlive(program.pid)) {
      throw new Error(
        `${program.logFile}: the program does not listen on ${port}.\n${readFileSync(program.logFile, 'utf8').slice(-2000)}`,
      )
    }
    await delay(50)
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}

/** True for a running process, false for a zombie. */
export function isAlive(pid: number): boolean {
  return readStat(pid) !== null && readStat(pid)?.state !== 'Z'
}

/** The process and all its descendants. */
export function listFamily(pid: number): number[] {
  const parents = new Map(listPids().map((each) => [each, readStat(each)?.parent]))
  const family = [pid]
  for (const member of family) {
    for (const [each, parent] of parents) if (parent === member) family.push(each)
  }
  return family
}

/** Processes whose command line contains a text. */
export function findByCommandLine(text: string): number[] {
  return listPids().filter((pid) => {
    try {
      return pid !== process.pid && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text)
    } catch {
      return false
    }
  })
}

/** Proportional set size (PSS) of processes, in kilobytes. */
export function readMemory(pids: readonly number[]): number {
  return pids
    .map((pid) => /^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1])
    .reduce((sum, kilobytes) => sum + Number(kilobytes ?? 0), 0)
}

/** CPU seconds of processes since their start. Linux counts them in hundredths. */
export function readCpuTime(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + (readStat(pid)?.cpuTicks ?? 0) / 100, 0)
}

/** Resident set size (RSS) of a process, in kilobytes. */
export function readResident(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0)
}

function listPids(): number[] {
  return readdirSync('/proc').map(Number).filter(Number.isInteger)
}

interface ProcessStat {
  state: string
  parent: number
  cpuTicks: number
}

function readStat(pid: number): ProcessStat | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // Skip the name, which is in parentheses and can contain any character.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    // In `man proc_pid_stat`, the state is field 3, the CPU time fields 14 and 15.
    return {
      state: fields[0] ?? '',
      parent: Number(fields[1]),
      cpuTicks: Number(fields[11]) + Number(fields[12]),
    }
  } catch {
    return null
  }
}
