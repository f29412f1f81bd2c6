// Ten minutes of requests and streams with random faults and disconnecting callers. README.md has details.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { awaitTurn, takeCores } from './machine.ts'
import { readResident } from './processes.ts'
import { median } from './samples.ts'
import { startCallers } from './soak/callers.ts'
import { startSoakUpstream } from './soak/upstream.ts'
import { prepareBerth } from './targets/berth.ts'
import { runProgram } from '../tools/run-program.ts'

/** Allowed memory growth from the second to the last tenth of the run, as a share. */
const flat = 0.1
/** Shorter runs do not check memory, because a young heap grows. */
const minutesUntilFlat = 5

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    rate: { type: 'string', default: '500' },
    streams: { type: 'string', default: '500' },
  },
})
const minutes = Number(values.minutes)
const requestsPerSecond = Number(values.rate)
const streams = Number(values.streams)
if (![minutes, requestsPerSecond, streams].every((number) => number > 0)) {
  throw new Error('--minutes, --rate and --streams must be numbers above 0')
}

/** Runs the soak test and returns its problems. */
async function soak(cleanup: AsyncDisposableStack): Promise<string[]> {
  await awaitTurn()
  const cores = takeCores()
  const folder = await mkdtemp(join(tmpdir(), 'berth-soak-'))
  cleanup.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  const upstream = await startSoakUpstream()
  cleanup.defer(async () => upstream.close())
  const setting = await prepareBerth({ cores, folder, upstreamPort: upstream.port, cleanup })
  const berth = await setting.start()
  const [pid = 0] = berth.pids

  const callers = startCallers({
    url: `http://127.0.0.1:${berth.ports.whole}`,
    cookie: setting.cookie,
    model: 'berth-tiny',
    requestsPerSecond,
    streams,
  })
  const memory = await watchMemory(pid, callers)
  await callers.stop()
  for (const [does, number] of callers.ended) console.log(`${does}: ${number}`)
  return [
    ...findSurprises([...callers.surprises, ...upstream.surprises]),
    ...judgeMemory(memory),
    ...(await compareWithUpstream(upstream, setting.databaseUrl)),
  ]
}

/** Reads the resident memory every second, in kilobytes, and reports every ten seconds. */
async function watchMemory(pid: number, callers: ReturnType<typeof startCallers>): Promise<number[]> {
  const memory: number[] = []
  const end = Date.now() + minutes * 60_000
  for (let second = 1; Date.now() < end; second += 1) {
    await delay(1000)
    memory.push(readResident(pid))
    if (second % 10 === 0) {
      const calls = callers.ended.values().reduce((sum, number) => sum + number, 0)
      console.log(
        `${second} s: ${calls} calls, ${callers.surprises.length} surprises, ${toMegabytes(memory.at(-1) ?? 0)}`,
        callers.surprises[0] ?? '',
      )
    }
  }
  return memory
}

function findSurprises(surprises: readonly string[]): string[] {
  if (surprises.length === 0) return []
  return [`${surprises.length} errors that were not injected:`, ...new Set(surprises)].slice(0, 11)
}

function judgeMemory(memory: readonly number[]): string[] {
  const tenth = Math.max(1, Math.floor(memory.length / 10))
  const start = median(memory.slice(tenth, tenth * 2)) ?? 0
  const last = median(memory.slice(-tenth)) ?? 0
  console.log(`Memory: ${toMegabytes(start)} at the start, ${toMegabytes(last)} at the end (resident)`)
  return minutes >= minutesUntilFlat && last > start * (1 + flat) ? ['The memory grew.'] : []
}

/** Compares requests in flight and tokens of the upstream with those of Berth. */
async function compareWithUpstream(
  upstream: Awaited<ReturnType<typeof startSoakUpstream>>,
  databaseUrl: string,
): Promise<string[]> {
  const problems: string[] = []
  const live = await settle(async () => upstream.live(), 0)
  console.log(`Upstream requests still active: ${live}`)
  if (live > 0) problems.push('A caller disconnected, but the gateway did not cancel the upstream request.')
  const { inputTokens, outputTokens } = upstream.sent
  const sent = `${inputTokens} in, ${outputTokens} out`
  const metered = await settle(() => readMetered(databaseUrl), sent)
  console.log(`Tokens sent: ${sent}; metered: ${metered}`)
  if (metered !== sent) problems.push('The metered tokens differ from the tokens sent.')
  return problems
}

/** Polls for up to 15 s until the value is as expected. Returns the last value. */
async function settle<Value>(read: () => Promise<Value>, right: Value): Promise<Value> {
  const deadline = Date.now() + 15_000
  let value = await read()
  for (; value !== right && Date.now() < deadline; value = await read()) await delay(200)
  return value
}

async function readMetered(databaseUrl: string): Promise<string> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    const { rows } = await client.query<{ input: string | null; output: string | null }>(
      'SELECT sum(input_tokens) AS input, sum(output_tokens) AS output FROM token_usage',
    )
    return `${rows[0]?.input ?? 0} in, ${rows[0]?.output ?? 0} out`
  } finally {
    await client.end()
  }
}

function toMegabytes(kilobytes: number): string {
  return `${(kilobytes / 1024).toFixed(1)} MB`
}

await runProgram(async (cleanup) => {
  const problems = await soak(cleanup)
  for (const problem of problems) console.error(problem)
  console.log(problems.length === 0 ? 'All held.' : 'It did not hold.')
  return problems.length === 0
})
