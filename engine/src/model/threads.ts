import { futimesSync, openSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'

/** Bytes of weights that a thread must multiply, or starting it takes longer than its share of the work */
const leastWork = 32 * 2 ** 20
/** How often a busy engine says so */
const tellMs = 100
/** How often a busy engine that can use several threads looks at the machine */
const lookMs = 20
/** An engine that last said longer ago that it is busy is idle. */
const busyMs = 3 * tellMs
/** The file in an engine's folder whose time of change is its last busy moment */
const busyFile = 'busy'

/** Sets how many threads compute the next batch, which has `tokens` tokens. */
export interface Threads {
  prepare: (tokens: number) => void
}

/** What the choice of threads depends on. */
interface Machine {
  cores: number
  /** Cores that other programs use now */
  otherCores: number
  /** Engines of this host that compute now, this one included */
  busyEngines: number
}

/**
 * Returns the threads for a batch. llama.cpp's threads spin while they wait for each other, so a thread
 * without its own core slows all down. Busy engines share the cores. Alone, an engine takes those that
 * are idle. For one token it leaves a core to the gateway and the caller.
 */
export function chooseThreads(
  tokens: number,
  weightBytes: number,
  { cores, otherCores, busyEngines }: Machine,
): number {
  const free = busyEngines > 1 ? Math.floor(cores / busyEngines) : cores - Math.floor(otherCores)
  return Math.max(1, Math.min(countUseful(tokens, weightBytes), free, tokens === 1 ? cores - 1 : cores))
}

/** node-llama-cpp makes and ends threads per evaluation, so a small one gains nothing from many. */
function countUseful(tokens: number, weightBytes: number): number {
  return Math.floor((weightBytes * tokens) / leastWork)
}

/** Sets `maxThreads` for each batch. Engines whose folders are neighbors of `stateDirectory` share cores. */
export function createThreads(
  llama: { maxThreads: number },
  { weightBytes, stateDirectory }: { weightBytes: number; stateDirectory: string },
): Threads {
  const cores = availableParallelism()
  const mark = openSync(join(stateDirectory, busyFile), 'w', 0o600)
  const machine: Machine = { cores, otherCores: 0, busyEngines: 1 }
  let toldAt = -Infinity
  let lookedAt = -Infinity
  return {
    prepare: (tokens) => {
      const now = Date.now()
      if (now - toldAt >= tellMs) {
        toldAt = now
        futimesSync(mark, now / 1000, now / 1000)
      }
      // Looking takes longer than a token of a small model, which has one thread anyway.
      if (countUseful(tokens, weightBytes) > 1 && now - lookedAt >= lookMs) {
        lookedAt = now
        machine.busyEngines = countBusyEngines(dirname(stateDirectory), now - busyMs)
        // A moving average, because one reading says little
        machine.otherCores += (countRunning() - 1 - machine.otherCores) / 4
      }
      llama.maxThreads = chooseThreads(tokens, weightBytes, machine)
    },
  }
}

/** Counts the engines that were busy since a time in milliseconds; at least one. */
function countBusyEngines(directory: string, since: number): number {
  try {
    const busy = readdirSync(directory).filter((name) => isBusy(join(directory, name, busyFile), since))
    return Math.max(1, busy.length)
  } catch {
    return 1
  }
}

function isBusy(file: string, since: number): boolean {
  try {
    return (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0) >= since
  } catch {
    return false
  }
}

/** Threads that run or wait for a core of this machine, this one included (proc_loadavg(5)); 1 if unknown. */
function countRunning(): number {
  try {
    return Number(/ (\d+)\//.exec(readFileSync('/proc/loadavg', 'latin1'))?.[1] ?? 1)
  } catch {
    return 1
  }
}
