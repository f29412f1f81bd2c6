import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Cores } from './machine.ts'
import type { LoadOptions, LoadResult, Native, Upstream } from './native.ts'
import { readMemory } from './processes.ts'
import type { Running } from './targets.ts'
import type { Work, WorkName } from './works.ts'

/** One work on one target in one round. */
export interface Sample {
  round: number
  work: WorkName
  target: string
  load: LoadResult
  /** CPU seconds of the target's processes in the measured time, and of the upstream's */
  cpu: number
  upstreamCpu: number
  /** And of what works for it elsewhere, on the load's core; null where nothing does */
  helpersCpu: number | null
  /** Kilobytes that each idle stream took; null where it was not measured */
  kilobytesPerStream: number | null
  /** Requests that the upstream was still working on a second after all callers had left; null where none left */
  leftRunning: number | null
}

export interface Bench {
  native: Native
  upstream: Upstream
  cores: Cores
  folder: string
}

/** Seconds of load before and in the measured time. */
export interface Times {
  warmup: number
  seconds: number
}

/** Has the upstream answer what a work asks for. */
export async function prepareUpstream({ upstream, folder }: Bench, { name, answer }: Work): Promise<void> {
  if ('whole' in answer) {
    const file = join(folder, `answer-${name}.json`)
    await writeFile(file, answer.whole)
    await upstream.command(`whole ${file}`)
  } else {
    await upstream.command(`stream ${answer.events} ${answer.everyMicroseconds}`)
  }
}

/** Puts a work on a target that runs and measures both. Throws when an answer is wrong before the load even begins. */
export async function measure(
  bench: Bench,
  work: Work,
  target: string,
  running: Running,
  times: Times,
): Promise<Omit<Sample, 'round'>> {
  const { upstream, cores } = bench
  const port = 'whole' in work.answer ? running.ports.whole : running.ports.stream
  const requestFile = join(bench.folder, `request-${target}-${work.name}`)
  await writeFile(requestFile, composeRequest(work, running.headers))
  const load: LoadOptions = {
    ...work.load,
    ...times,
    port,
    requestFile,
    core: cores.gateway,
    pids: [...running.pids, upstream.pid, ...(running.listHelpers?.() ?? [])],
  }
  const { result, kilobytesPerStream, leftRunning } =
    work.load.mode === 'hold'
      ? await holdStreams(bench, work, running, load)
      : await askForAnswers(bench, work, target, running, load)
  const own = running.pids.length
  return {
    work: work.name,
    target,
    load: result,
    cpu: sum(result.cpu.slice(0, own)),
    upstreamCpu: result.cpu[own] ?? 0,
    helpersCpu: running.listHelpers === undefined ? null : sum(result.cpu.slice(own + 1)),
    kilobytesPerStream,
    leftRunning,
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

interface Findings extends Pick<Sample, 'kilobytesPerStream' | 'leftRunning'> {
  result: LoadResult
}

async function askForAnswers(
  bench: Bench,
  work: Work,
  target: string,
  { headers }: Running,
  load: LoadOptions,
): Promise<Findings> {
  const expectFile = await probe(bench, work, target, load.port, headers)
  const result = await bench.native.runLoad({ ...load, expectFile })
  return { result, kilobytesPerStream: null, leftRunning: null }
}

async function holdStreams(
  { native, upstream }: Bench,
  work: Work,
  { pids }: Running,
  load: LoadOptions,
): Promise<Findings> {
  const opened = Promise.withResolvers<void>()
  const left = Promise.withResolvers<void>()
  const leftRunning = left.promise.then(() => countLeftRunning(upstream))
  let kilobytesPerStream: Promise<number | null> = Promise.resolve(null)
  if (work.name === 'idle') {
    // Some streams before, so that what the first ones bring with them is not counted for these.
    await native.runLoad({ ...load, connections: 200, warmup: 0, seconds: 0.5 })
    await delay(2000)
    await endLeftRunning(upstream)
    const before = readMemory(pids)
    kilobytesPerStream = opened.promise
      .then(() => delay(3000))
      .then(() => (readMemory(pids) - before) / load.connections)
  }
  // Where the load fails these are not waited for.
  for (const promise of [kilobytesPerStream, leftRunning]) promise.catch(() => {})
  const times = work.name === 'idle' ? { warmup: 0, seconds: 4 } : {}
  const result = await native.runLoad({ ...load, ...times, onOpened: opened.resolve, onLeft: left.resolve })
  const findings = {
    result,
    kilobytesPerStream: await kilobytesPerStream,
    leftRunning: await leftRunning,
  }
  await endLeftRunning(upstream)
  return findings
}

async function countLeftRunning(upstream: Upstream): Promise<number> {
  await delay(1000)
  return (await upstream.command('stats')).live
}

/** Ends what a gateway let run on after its callers had left: it would burden the next one. */
async function endLeftRunning(upstream: Upstream): Promise<void> {
  await upstream.command('drop')
  while ((await upstream.command('stats')).live > 0) await delay(20)
}

function composeRequest({ path, requestBody }: Work, headers: Record<string, string>): string {
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

/** Asks once and checks what the answer means; its bytes, in the file that is returned, are what every other answer must be. */
async function probe(
  bench: Bench,
  work: Work,
  target: string,
  port: number,
  headers: Record<string, string>,
): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}${work.path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'accept-encoding': 'identity', ...headers },
    body: work.requestBody,
  })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${target} answers ${response.status}: ${text.slice(0, 500)}`)
  const right =
    'whole' in work.answer
      ? isDeepStrictEqual(JSON.parse(text), JSON.parse(work.answer.whole))
      : isWholeStream(text, work.answer.events)
  if (!right) throw new Error(`${target} answers something else: ${text.slice(0, 500)}`)
  const file = join(bench.folder, `expect-${target}-${work.name}`)
  await writeFile(file, text)
  return file
}

/** True for a stream with every event once, in order, then its end, and no usage, which nobody asked for. */
function isWholeStream(text: string, events: number): boolean {
  const data = text.split('\n').flatMap((line) => (line.startsWith('data: ') ? [line.slice(6)] : []))
  if (data.pop() !== '[DONE]' || data.length !== events + 1) return false
  return data
    .map((item) => JSON.parse(item) as { choices: { delta: { content?: string } }[] })
    .every(({ choices }, index) => {
      const expected = index === events ? undefined : ` token ${String(index).padStart(3, '0')}`
      return choices[0]?.delta.content === expected
    })
}
