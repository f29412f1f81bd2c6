import { execFile, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'

/** The load generator's result; latencies in microseconds, CPU in seconds. */
export interface LoadResult {
  seconds: number
  answers: number
  events: number
  bytes: number
  errors: { status: number; body: number; broken: number }
  reconnects: number
  p50: number
  p90: number
  p99: number
  p999: number
  max: number
  samples: number
  /** Shares of the gateway's core: busy, and stolen by the hypervisor */
  coreBusy: number
  coreStolen: number
  loadCpu: number
  /** CPU seconds of each listed process */
  cpu: number[]
}

export interface LoadOptions {
  mode: 'closed' | 'rate' | 'hold'
  port: number
  requestFile: string
  expectFile?: string | undefined
  connections: number
  warmup: number
  seconds: number
  rate?: number | undefined
  core: number
  pids: readonly number[]
  /** Called when all streams are open, in mode `hold` */
  onOpened?: (() => void) | undefined
  /** Called when all callers have disconnected, in mode `hold` */
  onLeft?: (() => void) | undefined
}

/** The upstream's counters since its start. */
export interface UpstreamStats {
  requests: number
  answered: number
  aborted: number
  live: number
  events: number
  /** Requests it could not parse */
  refused: number
}

export interface Upstream {
  pid: number
  port: number
  /** Sends a command (see upstream.c) and returns the counters. */
  command(line: string): Promise<UpstreamStats>
  stop(): void
}

export interface Native {
  startUpstream(): Promise<Upstream>
  runLoad(options: LoadOptions): Promise<LoadResult>
}

/** Compiles the load generator and the upstream into `folder`. */
export async function buildNative(folder: string): Promise<Native> {
  for (const name of ['load', 'upstream']) {
    const source = join(import.meta.dirname, 'native', `${name}.c`)
    await promisify(execFile)('cc', ['-O2', '-Wall', '-o', join(folder, name), source])
  }
  return {
    startUpstream: () => startUpstream(join(folder, 'upstream')),
    runLoad: (options) => runLoad(join(folder, 'load'), options),
  }
}

async function startUpstream(program: string): Promise<Upstream> {
  const child = spawn(program, { stdio: ['pipe', 'pipe', 'inherit'], detached: true })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const read = async () => {
    const { value, done } = await lines.next()
    if (done) throw new Error('The upstream ended.')
    return value
  }
  const port = Number(await read())
  return {
    pid: child.pid ?? 0,
    port,
    async command(line) {
      child.stdin.write(`${line}\n`)
      return JSON.parse(await read()) as UpstreamStats
    },
    stop: () => child.stdin.end(),
  }
}

async function runLoad(program: string, options: LoadOptions): Promise<LoadResult> {
  const { mode, port, requestFile, expectFile, connections, warmup, seconds, rate, core, pids } = options
  const args = Object.entries({
    '--port': port,
    '--request': requestFile,
    '--expect': expectFile,
    '--connections': connections,
    '--warmup': warmup,
    '--seconds': seconds,
    '--rate': rate,
    '--core': core,
    '--cpu': pids.length === 0 ? undefined : pids.join(','),
  }).flatMap(([name, value]) => (value === undefined ? [] : [name, String(value)]))
  const child = spawn(program, [mode, ...args], { stdio: ['pipe', 'pipe', 'pipe'], detached: true })
  let complaints = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaints += text))
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  let result: LoadResult | null = null
  for await (const line of createInterface({ input: child.stdout })) {
    if (line === 'opened') options.onOpened?.()
    else if (line === 'left') options.onLeft?.()
    else result = JSON.parse(line) as LoadResult
  }
  const code = await ended
  if (code !== 0 || result === null) throw new Error(`The load generator failed: ${complaints.trim()}`)
  if (complaints !== '') process.stderr.write(complaints)
  return result
}
