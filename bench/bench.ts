// Measures Berth and its peers in front of the same upstream; README.md says how to read what it prints.
import { readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { describeMachine, readLoadAverage, readVersion, takeCores, awaitTurn } from './machine.ts'
import { measure, prepareUpstream } from './measure.ts'
import type { Bench, Sample } from './measure.ts'
import { buildNative } from './native.ts'
import { renderResults, writeResultsFile } from './results.ts'
import type { Results } from './results.ts'
import { targets as allTargets } from './targets.ts'
import type { Running, Target } from './targets.ts'
import { works as allWorks } from './works.ts'
import type { Work } from './works.ts'

const roundsFile = join(import.meta.dirname, 'rounds.json')

interface Options {
  rounds: number
  seconds: number
  quick: boolean
  works: readonly Work[]
  targets: readonly Target[]
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '5' },
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
    seconds: values.quick ? 1 : readNumber('--seconds', values.seconds),
    quick: values.quick,
    works: pick('--only', allWorks, values.only),
    targets: pick('--target', allTargets, values.target),
  }
  return { options, write: values.write, from: values.from }
}

function readNumber(name: string, text: string): number {
  const number = Number(text)
  if (!(number > 0)) throw new Error(`${name}: give a number above 0 in place of ${JSON.stringify(text)}`)
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
      `${option}: there is no ${unknown}; there are ${items.map(({ name }) => name).join(', ')}`,
    )
  }
  return names === undefined ? items : items.filter(({ name }) => names.includes(name))
}

/** A target that takes part in this run, with what starts another process of it. */
interface Entrant {
  target: Target
  start: () => Promise<Running>
  running: Running
}

function takesPart({ works }: Target, { name }: Work): boolean {
  return works === undefined || works.includes(name)
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

  const [chat] = allWorks
  if (chat === undefined || !('whole' in chat.answer)) throw new Error('The first work must be the chat.')
  const answerFile = join(folder, 'answer-chat.json')
  await writeFile(answerFile, chat.answer.whole)
  const entrants: Entrant[] = []
  for (const target of options.targets) {
    say(`starting ${target.name}`)
    const start = await target.prepare({ cores, folder, upstreamPort: upstream.port, answerFile, cleanup })
    const running = await start()
    entrants.push({ target, start, running })
  }
  for (const { target, running } of entrants) await warmUp(bench, options, target, running)

  const results: Results = {
    begun: new Date().toISOString(),
    ended: '',
    command: ['npm run bench --', ...process.argv.slice(2)].join(' '),
    machine: describeMachine(),
    loadAverage,
    versions: readVersions(options.targets),
    cores,
    samples: [],
    failures: [],
  }
  for (let round = 1; round <= options.rounds; round += 1) {
    for (const work of options.works) {
      await prepareUpstream(bench, work)
      const inTurn = entrants.filter(({ target }) => takesPart(target, work))
      // Another one begins in each round.
      inTurn.push(...inTurn.splice(0, (round - 1) % inTurn.length))
      for (const entrant of inTurn) {
        const name = `round ${round}, ${work.name}, ${entrant.target.name}`
        try {
          const sample = await takeSample(bench, options, work, entrant)
          results.samples.push({ round, ...sample })
          say(`${name}: ${describeSample(sample)}`)
        } catch (error) {
          // The others and the rounds to come count all the same.
          const failure = `${name}: ${error instanceof Error ? error.message : String(error)}`
          results.failures.push(failure)
          say(failure)
          await upstream.command('drop')
        }
      }
    }
    results.ended = new Date().toISOString()
    await writeFile(roundsFile, `${JSON.stringify(results)}\n`)
  }
  return results
}

async function takeSample(
  bench: Bench,
  options: Options,
  work: Work,
  { target, start, running }: Entrant,
): Promise<Omit<Sample, 'round'>> {
  const times = timesOf(work, options)
  if (work.name !== 'idle') return measure(bench, work, target.name, running, times)
  // Memory is that of a process that served nothing else.
  const fresh = await start()
  try {
    return await measure(bench, work, target.name, fresh, times)
  } finally {
    await fresh.stop()
  }
}

function timesOf({ name }: Work, { seconds }: Options) {
  // A percentile of few requests needs more time.
  return { warmup: Math.min(1, seconds), seconds: name === 'rate' ? seconds * 2 : seconds }
}

/** Load before the first round, whole answers and then streams: a just-in-time compiler needs it. */
async function warmUp(
  bench: Bench,
  { quick, works }: Options,
  target: Target,
  running: Running,
): Promise<void> {
  const seconds = quick ? Math.min(target.warmup, 2) : target.warmup
  say(`warming ${target.name} up for ${seconds} s`)
  for (const [name, share] of [
    ['chat', 0.6],
    ['stream', 0.4],
  ] as const) {
    const work = allWorks.find((each) => each.name === name)
    const needed = works.some((each) => 'whole' in each.answer === (name === 'chat'))
    if (work === undefined || !needed || !takesPart(target, work)) continue
    await prepareUpstream(bench, work)
    await measure(bench, work, target.name, running, { warmup: 0, seconds: seconds * share })
  }
}

function describeSample({ load, cpu, kilobytesPerStream, leftRunning }: Omit<Sample, 'round'>): string {
  const { answers, events, seconds, errors, p50, p99 } = load
  const wrong = errors.status + errors.body + errors.broken
  return [
    answers > 0 && `${Math.round(answers / seconds)} answers/s`,
    events > 0 && `${Math.round(events / seconds)} events/s`,
    `${Math.round((cpu / seconds) * 100)} % CPU`,
    load.samples > 0 && `p50 ${(p50 / 1000).toFixed(2)} ms, p99 ${(p99 / 1000).toFixed(2)} ms`,
    kilobytesPerStream !== null && `${kilobytesPerStream.toFixed(1)} KB a stream`,
    leftRunning !== null && `${leftRunning} left running`,
    wrong > 0 && `${wrong} WRONG`,
  ]
    .filter(Boolean)
    .join(', ')
}

function readVersions(targets: readonly Target[]): Record<string, string> {
  const names = new Set(targets.map(({ name }) => name))
  return {
    ...(names.has('nginx') && { nginx: readVersion('nginx', ['-v']) }),
    ...(names.has('haproxy') && { haproxy: readVersion('haproxy', ['-v']) }),
    ...(names.has('portkey') && { portkey: readPortkeyVersion() }),
  }
}

function readPortkeyVersion(): string {
  const text = readFileSync(join(import.meta.dirname, 'package.json'), 'utf8')
  const { dependencies, overrides } = JSON.parse(text) as Record<string, Record<string, string>>
  return Object.entries({ ...dependencies, ...overrides })
    .map(([name, version]) => `${name} ${version}`)
    .join(', ')
}

function say(text: string): void {
  process.stderr.write(`${text}\n`)
}

/** Rejects at Ctrl-C or when asked to end, so that what was started is stopped. */
function interruption(): Promise<never> {
  return new Promise((_resolve, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      // More than once at times: npm passes on what the terminal has sent already.
      process.on(signal, () => reject(new Error('The benchmark was interrupted.')))
    }
  })
}

async function main(): Promise<void> {
  const { options, write, from } = readOptions()
  const interrupted = interruption()
  let results: Results
  if (from === undefined) {
    await using cleanup = new AsyncDisposableStack()
    results = await Promise.race([run(options, cleanup), interrupted])
  } else {
    results = JSON.parse(await readFile(from, 'utf8')) as Results
  }
  console.log(renderResults(results))
  if (write) await writeResultsFile(results)
}

try {
  await main()
  process.exit(0)
} catch (error) {
  const first = error instanceof SuppressedError ? error.suppressed : error
  console.error(`\n${first instanceof Error ? first.message : first}`)
  process.exit(1)
}
