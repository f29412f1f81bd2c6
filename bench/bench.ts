// Measures Berth and its peers in front of the same upstream. README.md explains the output.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { describeMachine, readLoadAverage, takeCores, awaitTurn } from './machine.ts'
import { measure, prepareUpstream } from './measure.ts'
import type { Bench, Measurement } from './measure.ts'
import { buildNative } from './native.ts'
import { renderResults, writeResultsFile } from './results.ts'
import type { Results } from './results.ts'
import { targets as allTargets } from './targets.ts'
import type { Running, Target } from './target.ts'
import { workloads as allWorkloads } from './workloads.ts'
import type { Workload } from './workloads.ts'
import { runProgram } from '../tools/run-program.ts'

const roundsFile = join(import.meta.dirname, 'rounds.json')

interface Options {
  rounds: number
  /** Measurements of each target and workload in a round, alternating between the targets */
  turns: number
  seconds: number
  quick: boolean
  workloads: readonly Workload[]
  targets: readonly Target[]
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '5' },
      turns: { type: 'string', default: '1' },
      seconds: { type: 'string', default: '5' },
      only: { type: 'string', multiple: true },
      target: { type: 'string', multiple: true },
      quick: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
      from: { type: 'string' },
    },
  })
  const options: Options = {
    rounds: values.quick ? 1 : readNumber('--rounds', values.rounds),
    turns: values.quick ? 1 : readNumber('--turns', values.turns),
    seconds: values.quick ? 1 : readNumber('--seconds', values.seconds),
    quick: values.quick,
    workloads: pick('--only', allWorkloads, values.only),
    targets: pick('--target', allTargets, values.target),
  }
  return { options, write: values.write, from: values.from }
}

function readNumber(name: string, text: string): number {
  const number = Number(text)
  if (!(number > 0)) throw new Error(`${name} must be a number above 0, not ${JSON.stringify(text)}`)
  return number
}

function pick<Item extends { name: string }>(
  option: string,
  items: readonly Item[],
  names: string[] | undefined,
): readonly Item[] {
  const unknown = names?.find((name) => items.every((item) => item.name !== name))
  if (unknown !== undefined) {
    throw new Error(
      `${option}: ${unknown} does not exist; choose from ${items.map(({ name }) => name).join(', ')}`,
    )
  }
  return names === undefined ? items : items.filter(({ name }) => names.includes(name))
}

/** A target of this run, with a function that starts another process of it. */
interface Entrant {
  target: Target
  start: () => Promise<Running>
}

/** A target with the process that a round measures. */
interface RunningEntrant extends Entrant {
  running: Running
}

function takesPart({ name: target, workloads }: Target, { name, targets }: Workload): boolean {
  return (workloads?.includes(name) ?? true) && (targets?.includes(target) ?? true)
}

async function run(options: Options, cleanup: AsyncDisposableStack): Promise<Results> {
  await awaitTurn()
  const loadAverage = readLoadAverage()
  const cores = takeCores()
  const folder = await mkdtemp(join(tmpdir(), 'berth-bench-'))
  cleanup.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  const native = await buildNative(folder)
  const upstream = await native.startUpstream()
  cleanup.defer(async () => upstream.stop())
  const bench: Bench = { native, upstream, cores, folder }
  const entrants = await prepareTargets(bench, options, cleanup)
  const results: Results = {
    begun: new Date().toISOString(),
    ended: '',
    command: ['npm run bench --', ...process.argv.slice(2)].join(' '),
    machine: describeMachine(),
    loadAverage,
    versions: Object.fromEntries(
      entrants.flatMap(({ target: { name, version } }) => (version ? [[name, version()]] : [])),
    ),
    cores,
    samples: [],
    failures: [],
  }
  for (let round = 1; round <= options.rounds; round += 1) {
    const running = await startTargets(bench, options, entrants)
    for (const workload of options.workloads) {
      await prepareUpstream(bench, workload)
      const inTurn = running.filter(({ target }) => takesPart(target, workload))
      // Rotate the order in each round and turn.
      inTurn.push(...inTurn.splice(0, (round - 1) % inTurn.length))
      for (let turn = 1; turn <= options.turns; turn += 1) {
        for (const entrant of inTurn)
          await addSample(bench, options, results, { round, turn }, workload, entrant)
        inTurn.push(...inTurn.splice(0, 1))
      }
    }
    for (const entrant of running) await entrant.running.stop()
    results.ended = new Date().toISOString()
    await writeFile(roundsFile, `${JSON.stringify(results)}\n`)
  }
  return results
}

async function prepareTargets(
  { cores, folder, upstream }: Bench,
  options: Options,
  cleanup: AsyncDisposableStack,
): Promise<Entrant[]> {
  const entrants: Entrant[] = []
  for (const target of options.targets) {
    const missing = target.explainMissing?.()
    if (missing != null) {
      say(`skipping ${target.name}: ${missing}`)
      continue
    }
    say(`preparing ${target.name}`)
    const start = await target.prepare({ cores, folder, upstreamPort: upstream.port, cleanup })
    entrants.push({ target, start })
  }
  return entrants
}

/** Starts and warms up the targets in each round, because two starts of a program differ by up to 15 %. */
async function startTargets(
  bench: Bench,
  options: Options,
  entrants: readonly Entrant[],
): Promise<RunningEntrant[]> {
  const started: RunningEntrant[] = []
  for (const entrant of entrants) started.push({ ...entrant, running: await entrant.start() })
  for (const { target, running } of started) await warmUp(bench, options, target, running)
  return started
}

/** Adds a sample to the results, or its failure: the other targets and rounds still count. */
async function addSample(
  bench: Bench,
  options: Options,
  results: Results,
  when: { round: number; turn: number },
  workload: Workload,
  entrant: RunningEntrant,
): Promise<void> {
  const name = `round ${when.round}, ${workload.name}, ${entrant.target.name}`
  try {
    const sample = await takeSample(bench, options, workload, entrant)
    results.samples.push({ ...when, ...sample })
    say(`${name}: ${describeSample(sample)}`)
  } catch (error) {
    const failure = `${name}: ${error instanceof Error ? error.message : String(error)}`
    results.failures.push(failure)
    say(failure)
    await bench.upstream.command('drop')
  }
}

async function takeSample(
  bench: Bench,
  options: Options,
  workload: Workload,
  { target, start, running }: RunningEntrant,
): Promise<Measurement> {
  const times = timesOf(workload, options)
  if (workload.name !== 'idle') return measure(bench, workload, target.name, running, times)
  // Measure memory in a fresh process.
  const fresh = await start()
  try {
    return await measure(bench, workload, target.name, fresh, times)
  } finally {
    await fresh.stop()
  }
}

function timesOf({ name }: Workload, { seconds }: Options) {
  // Percentiles need more requests.
  return { warmup: seconds / 5, seconds: name === 'rate' ? seconds * 2 : seconds }
}

/** Warms up a just-in-time compiler: complete responses, then streams. */
async function warmUp(
  bench: Bench,
  { quick, workloads }: Options,
  target: Target,
  running: Running,
): Promise<void> {
  const seconds = quick ? Math.min(target.warmup, 2) : target.warmup
  say(`warming up ${target.name} for ${seconds} s`)
  for (const [name, share] of [
    ['chat', 0.6],
    ['stream', 0.4],
  ] as const) {
    const workload = allWorkloads.find((each) => each.name === name)
    const needed = workloads.some((each) => 'whole' in each.answer === (name === 'chat'))
    if (workload === undefined || !needed || !takesPart(target, workload)) continue
    await prepareUpstream(bench, workload)
    await measure(bench, workload, target.name, running, { warmup: 0, seconds: seconds * share })
  }
}

function describeSample({ load, cpu, kilobytesPerStream, leftRunning }: Measurement): string {
  const { answers, events, seconds, errors, p50, p99 } = load
  const wrong = errors.status + errors.body + errors.broken
  return [
    answers > 0 && `${Math.round(answers / seconds)} answers/s`,
    events > 0 && `${Math.round(events / seconds)} events/s`,
    `${Math.round((cpu / seconds) * 100)} % CPU`,
    load.samples > 0 && `p50 ${(p50 / 1000).toFixed(2)} ms, p99 ${(p99 / 1000).toFixed(2)} ms`,
    kilobytesPerStream !== null && `${kilobytesPerStream.toFixed(1)} KB per stream`,
    leftRunning !== null && `${leftRunning} left running`,
    wrong > 0 && `${wrong} WRONG`,
  ]
    .filter(Boolean)
    .join(', ')
}

function say(text: string): void {
  process.stderr.write(`${text}\n`)
}

await runProgram(async (cleanup) => {
  const { options, write, from } = readOptions()
  const results =
    from === undefined ? await run(options, cleanup) : (JSON.parse(await readFile(from, 'utf8')) as Results)
  console.log(renderResults(results))
  if (write) await writeResultsFile(results)
  return true
})
