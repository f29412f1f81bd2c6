import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { query } from '../../database/scratch.ts'
import { lastLines } from '../fleet.ts'
import { compareUsage, expectNoAnomaly, readSpans } from '../usage-checks.ts'
import { faults } from './faults.ts'
import type { Fault } from './faults.ts'
import { deleteOthers, findLeftOvers, openWorld, startLoad, waitUntilHealthy } from './world.ts'
import type { Tally, World } from './world.ts'

/** What a fault did. `problems` is empty if it did nothing that it must not do. */
interface Row {
  fault: Fault
  tally: Tally
  secondsUntilHealthy: number
  lost: string[]
  leftOvers: string[]
  /** Differences of the bill from what the backend held and what the callers received */
  bill: string[]
}

async function runFault(world: World, fault: Fault): Promise<Row> {
  const startedAt = Date.now()
  const billedBefore = await readBilledTokens(world)
  const load = startLoad(world)
  await delay(2_000)
  await fault.inject(world)
  const healedAt = performance.now()
  await waitUntilHealthy(world)
  const secondsUntilHealthy = (performance.now() - healedAt) / 1000
  await delay(2_000)
  await load.stop()
  const { tally } = load
  const lost = await findLost(world, tally)
  await deleteOthers(world)
  const leftOvers = await findLeftOvers(world)
  const { differences } = compareUsage(
    await readSpans(world.database.primaryUrl()),
    world.sampling.samples.filter(({ at }) => at >= startedAt),
    world.backend.toleranceMs,
  )
  const unbilled = await findUnbilled(world, tally, billedBefore)
  return { fault, tally, secondsUntilHealthy, lost, leftOvers, bill: [...differences, ...unbilled] }
}

/** What was acknowledged and isn't in the database. */
async function findLost({ database, person }: World, { profile, deployments }: Tally): Promise<string[]> {
  const [row] = await query<{ first_name: string }>(database.primaryUrl(), 'SELECT first_name FROM users')
  const kept = Number(/^change (\d+)$/.exec(row!.first_name)?.[1] ?? 0)
  const lost = kept < profile.acknowledged ? [`change ${profile.acknowledged} of the profile`] : []
  for (const [id, known] of deployments) {
    const { status, body } = await person.get(`/api/v1/model-deployments/${id}`)
    const isKept = status === 200 && (known === 'created' || body.status.startsWith('terminat'))
    if (!isKept) lost.push(`deployment ${id}, ${known}`)
  }
  return lost
}

async function readBilledTokens({ person, model }: World) {
  const { body } = await person.get(`/api/v1/model-deployments/${model}/usage`)
  return { input: body.input_tokens as number, output: body.output_tokens as number }
}

/** Waits until the tokens of all complete responses are billed. More may be: of responses that broke off. */
async function findUnbilled(
  world: World,
  { tokens }: Tally,
  before: { input: number; output: number },
): Promise<string[]> {
  for (let second = 0; ; second++) {
    const { input, output } = await readBilledTokens(world)
    const missing = {
      input: tokens.input - (input - before.input),
      output: tokens.output - (output - before.output),
    }
    if (missing.input <= 0 && missing.output <= 0) return []
    if (second === 60) return [`${missing.input} input and ${missing.output} output tokens are not billed`]
    await delay(1_000)
  }
}

const share = ({ sent, failed }: Tally['management']) => `${failed.length}/${sent}`

/** The columns of the table, each with its width */
const columns: readonly [string, number, (row: Row) => string][] = [
  ['component', 13, ({ fault }) => fault.component],
  ['fault', 23, ({ fault }) => fault.name],
  ['inference', 11, ({ tally }) => share(tally.inference)],
  ['slowest', 9, ({ tally }) => (tally.inference.slowestMs / 1000).toFixed(1)],
  ['changes', 9, ({ tally }) => share(tally.management)],
  ['healthy', 9, ({ secondsUntilHealthy }) => secondsUntilHealthy.toFixed(1)],
  ['lost', 6, ({ lost }) => String(lost.length)],
  ['engines', 9, ({ leftOvers }) => String(leftOvers.length)],
  ['bill', 4, ({ bill }) => String(bill.length)],
]

const legend = `inference, changes: failed after the client's retries, of all
slowest: seconds of the slowest chat or stream, retries included
healthy: seconds from the end of the fault until everything works
lost: what was acknowledged and is gone; engines: left over; bill: differences from the count
`

/** What a row must not have. */
function findProblems({ fault, tally, lost, leftOvers, bill }: Row): string[] {
  const failed = fault.breaksInference ? [] : tally.inference.failed
  const internal = tally.management.failed.filter((failure) => failure.includes('500'))
  return [...failed.slice(0, 3), ...internal.slice(0, 3), ...lost, ...leftOvers, ...bill].map(
    (problem) => `${fault.component}, ${fault.name}: ${problem}`,
  )
}

const { values } = parseArgs({ options: { only: { type: 'string', multiple: true } } })
const chosen = faults.filter(
  ({ component, name }) => values.only?.some((word) => [component, name].includes(word)) ?? true,
)
await using cleanup = new AsyncDisposableStack()
const world = await openWorld(cleanup)
const print = (toCell: (column: (typeof columns)[number]) => string) =>
  console.log(
    columns
      .map((column) => toCell(column).padEnd(column[1]))
      .join('')
      .trimEnd(),
  )
console.log(legend)
print(([head]) => head)
const problems: string[] = []
for (const fault of chosen) {
  try {
    const row = await runFault(world, fault)
    print(([, , toCell]) => toCell(row))
    problems.push(...findProblems(row))
  } catch (error) {
    console.error(lastLines(world.members))
    throw new Error(`${fault.component}, ${fault.name}`, { cause: error })
  }
}
await expectNoAnomaly(world.database.primaryUrl())
for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exitCode = 1
