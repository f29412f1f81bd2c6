import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Cores } from './machine.ts'
import type { LoadOptions, LoadResult, Native, Upstream } from './native.ts'
import { readCpuTime, readMemory } from './processes.ts'
import { probe } from './probe.ts'
import type { Running } from './target.ts'
import type { Workload, WorkloadName } from './workloads.ts'

/** One workload on one target. */
export interface Measurement {
  workload: WorkloadName
  target: string
  load: LoadResult
  /** CPU seconds of the target's and the upstream's processes during the measurement */
  cpu: number
  upstreamCpu: number
  /** CPU seconds of its database on the load's core, or null */
  helpersCpu: number | null
  /** Kilobytes per idle stream, or null if not measured */
  kilobytesPerStream: number | null
  /** Upstream requests still active one second after all callers disconnected, or null if not measured */
  leftRunning: number | null
  /** The 99th percentile before the silence, in microseconds, or null if not measured */
  steadyP99: number | null
}

/** A measurement in one turn of a round. */
export interface Sample extends Measurement {
  round: number
  turn: number
}

export interface Bench {
  native: Native
  upstream: Upstream
  cores: Cores
  folder: string
}

/** Seconds of load before and during the measurement. */
export interface Times {
  warmup: number
  seconds: number
}

/** Configures the upstream's response for a workload. */
export async function prepareUpstream(
  { upstream, folder }: Bench,
  { name, answer }: Workload,
): Promise<void> {
  if ('whole' in answer) {
    const file = join(folder, `answer-${name}.json`)
    await writeFile(file, answer.whole)
    await upstream.command(`whole ${file}`)
  } else if ('text' in answer) {
    const file = join(folder, `answer-${name}.txt`)
    await writeFile(file, answer.text)
    await upstream.command(`events ${file}`)
  } else {
    const { events, everyMicroseconds, isCounted } = answer
    await upstream.command(isCounted ? `counted ${events}` : `stream ${events} ${everyMicroseconds}`)
  }
}

/** Runs a workload on a running target. Throws when the first response is wrong. */
export async function measure(
  bench: Bench,
  workload: Workload,
  target: string,
  running: Running,
  times: Times,
): Promise<Measurement> {
  const { upstream, cores } = bench
  const port = 'whole' in workload.answer ? running.ports.whole : running.ports.stream
  const requestFile = join(bench.folder, `request-${target}-${workload.name}`)
  await writeFile(requestFile, composeRequest(workload, running.headers))
  const load: LoadOptions = {
    ...workload.load,
    ...times,
    port,
    requestFile,
    core: cores.gateway,
    pids: [...running.pids, upstream.pid, ...(running.listHelpers?.() ?? [])],
  }
  const { result, ...findings } =
    workload.load.mode === 'hold'
      ? await holdStreams(bench, workload, running, load)
      : await askForAnswers(bench, workload, target, running, load)
  await settle(running.pids)
  const own = running.pids.length
  return {
    workload: workload.name,
    target,
    load: result,
    cpu: sum(result.cpu.slice(0, own)),
    upstreamCpu: result.cpu[own] ?? 0,
    helpersCpu: running.listHelpers === undefined ? null : sum(result.cpu.slice(own + 1)),
    ...findings,
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

interface Findings extends Pick<Measurement, 'kilobytesPerStream' | 'leftRunning' | 'steadyP99'> {
  result: LoadResult
}

async function askForAnswers(
  bench: Bench,
  workload: Workload,
  target: string,
  running: Running,
  load: LoadOptions,
): Promise<Findings> {
  const expectFile = await probe(bench.folder, workload, target, load.port, running)
  const none = { kilobytesPerStream: null, leftRunning: null, steadyP99: null }
  const result = await bench.native.runLoad({ ...load, expectFile })
  const { silence } = workload.load
  if (silence === undefined) return { ...none, result }
  await delay(silence * 1000)
  const burst = await bench.native.runLoad({ ...load, expectFile, warmup: 0 })
  return { ...none, result: burst, steadyP99: result.p99 }
}

async function holdStreams(
  { native, upstream }: Bench,
  workload: Workload,
  { pids }: Running,
  load: LoadOptions,
): Promise<Findings> {
  const opened = Promise.withResolvers<void>()
  const left = Promise.withResolvers<void>()
  const leftRunning = left.promise.then(() => countLeftRunning(upstream))
  let kilobytesPerStream: Promise<number | null> = Promise.resolve(null)
  if (workload.name === 'idle') {
    // Open some streams first, so that one-time allocations are not counted.
    await native.runLoad({ ...load, connections: 200, warmup: 0, seconds: 0.5 })
    await delay(2000)
    await endLeftRunning(upstream)
    const before = readMemory(pids)
    kilobytesPerStream = opened.promise
      .then(() => delay(3000))
      .then(() => (readMemory(pids) - before) / load.connections)
  }
  // If the load fails, do not wait for these.
  for (const promise of [kilobytesPerStream, leftRunning]) promise.catch(() => {})
  const times = workload.name === 'idle' ? { warmup: 0, seconds: 4 } : {}
  const result = await native.runLoad({ ...load, ...times, onOpened: opened.resolve, onLeft: left.resolve })
  const findings = {
    result,
    kilobytesPerStream: await kilobytesPerStream,
    leftRunning: await leftRunning,
    steadyP99: null,
  }
  await endLeftRunning(upstream)
  return findings
}

async function countLeftRunning(upstream: Upstream): Promise<number> {
  await delay(1000)
  return (await upstream.command('stats')).live
}

/** Ends upstream requests that a gateway left running; they would burden the next target. */
async function endLeftRunning(upstream: Upstream): Promise<void> {
  await upstream.command('drop')
  while ((await upstream.command('stats')).live > 0) await delay(20)
}

function composeRequest({ path, requestBody }: Workload, headers: Record<string, string>): string {
  const head = {
    host: '127.0.0.1',
    'user-agent': 'berth-bench',
    accept: '*/*',
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(requestBody)),
    ...headers,
  }
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${requestBody}`
}

/** Waits until the target is idle: requests that outlive their callers would slow the next target. */
async function settle(pids: readonly number[]): Promise<void> {
  const deadline = Date.now() + 60_000
  for (let before = readCpuTime(pids), busy = true; busy && Date.now() < deadline;) {
    await delay(500)
    const after = readCpuTime(pids)
    busy = after - before > 0.05
    before = after
  }
}
