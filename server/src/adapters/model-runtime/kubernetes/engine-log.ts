import { setTimeout as sleep } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import type { LogLine } from '../../../ports/model-runtime.ts'
import type { Cluster } from './cluster.ts'
import { labels, selectorOf } from './names.ts'
import { newestFirst } from './pods.ts'

const longestLine = 4096
const requestTimeout = 10_000
const reconnectAfter = 1_000

/** A line with its time in nanoseconds: engines log several lines per millisecond. */
interface StampedLine extends LogLine {
  nanoseconds: bigint
}

/** The pod whose log is shown: the newest, and on several nodes the leader. */
async function findServingPod(cluster: Cluster, engineId: string): Promise<string | null> {
  const pods = await cluster.listPods(selectorOf(engineId))
  const serving = pods.filter(({ metadata }) => (metadata?.labels?.[labels.workerIndex] ?? '0') === '0')
  return newestFirst(serving)[0]?.metadata?.name ?? null
}

/** The last log lines, oldest first: those of the previous container if the current one has no output. */
export async function readEngineLog(cluster: Cluster, engineId: string, limit: number): Promise<LogLine[]> {
  return (await readStampedLog(cluster, engineId, limit)).map(toLogLine)
}

async function readStampedLog(cluster: Cluster, engineId: string, limit: number): Promise<StampedLine[]> {
  const pod = await findServingPod(cluster, engineId)
  return pod === null || limit <= 0 ? [] : readPodLog(cluster, pod, limit)
}

async function readPodLog(cluster: Cluster, pod: string, limit: number): Promise<StampedLine[]> {
  for (const previous of [false, true]) {
    const lines = await collect(cluster, { pod, tailLines: limit, previous })
    if (lines.length > 0) return lines.slice(-limit)
  }
  return []
}

/** The last log lines of a container that exited, even if it has been restarted since. */
export async function readLastLines(cluster: Cluster, pod: string, isRestarted: boolean): Promise<LogLine[]> {
  return collect(cluster, { pod, tailLines: 80, previous: isRestarted })
}

async function collect(
  cluster: Cluster,
  request: { pod: string; tailLines: number; previous: boolean },
): Promise<StampedLine[]> {
  const body = await cluster.openLog(request, AbortSignal.timeout(requestTimeout))
  return body === null ? [] : Array.fromAsync(toLines(body))
}

/** Yields the last `tail` lines, then each new one across restarts and new pods until the signal aborts. */
export async function* followEngineLog(
  cluster: Cluster,
  engineId: string,
  tail: number,
  signal: AbortSignal,
): AsyncIterable<LogLine> {
  let sinceTime = new Date()
  const recent = await readStampedLog(cluster, engineId, tail)
  yield* recent.map(toLogLine)
  let last = recent.at(-1)
  while (!signal.aborted) {
    try {
      const pod = await findServingPod(cluster, engineId)
      sinceTime = last?.at ?? sinceTime
      const body = pod === null ? null : await cluster.openLog({ pod, follow: true, sinceTime }, signal)
      for await (const line of body === null ? [] : toLines(body)) {
        // `sinceTime` has whole seconds, so the cluster repeats lines.
        if (last !== undefined ? line.nanoseconds <= last.nanoseconds : line.at <= sinceTime) continue
        last = line
        yield toLogLine(line)
      }
    } catch (error) {
      if (signal.aborted) return
      if (!isBrokenStream(error)) throw error
    }
    await sleep(reconnectAfter, undefined, { signal }).catch(() => {})
  }
}

/** The API server closes idle streams, and a lost node breaks its own. */
function isBrokenStream(error: unknown): boolean {
  return error instanceof TypeError || (error instanceof Error && error.name === 'AbortError')
}

async function* toLines(body: AsyncIterable<Uint8Array>): AsyncIterable<StampedLine> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) yield* toLine(line)
    if (rest.length > 16 * longestLine) rest = rest.slice(0, 16 * longestLine)
  }
  yield* toLine(rest)
}

/** Parses each line's timestamp. A progress bar rewrites its line with `\r`: the last version stays. */
function* toLine(raw: string): Iterable<StampedLine> {
  const [, seconds, fraction = '', zone, text = ''] =
    /^(\d{4}-\d\d-\d\dT[\d:]+)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d) ?(.*)$/s.exec(raw) ?? []
  const start = seconds === undefined ? Number.NaN : Date.parse(`${seconds}${zone}`)
  const shown = stripVTControlCharacters(text).replaceAll('\0', '').trimEnd().split('\r').at(-1) ?? ''
  if (Number.isNaN(start) || shown === '') return
  const nanoseconds = BigInt(start) * 1_000_000n + BigInt(fraction.padEnd(9, '0'))
  yield { at: new Date(Number(nanoseconds / 1_000_000n)), line: shown.slice(0, longestLine), nanoseconds }
}

function toLogLine({ at, line }: StampedLine): LogLine {
  return { at, line }
}
