import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { goals, judge } from './goals.ts'
import type { Cores } from './machine.ts'
import type { Sample } from './measure.ts'
import { isValid, median } from './samples.ts'
import { targets } from './targets.ts'
import { workloads } from './workloads.ts'
import type { Workload } from './workloads.ts'

/** A complete run, as stored in rounds.json. */
export interface Results {
  begun: string
  ended: string
  command: string
  machine: string[]
  versions: Record<string, string>
  cores: Cores
  /** Load average of the minute before the run */
  loadAverage: number
  samples: Sample[]
  /** Failed measurements with their reasons */
  failures: string[]
}

const resultsFile = join(import.meta.dirname, 'RESULTS.md')
const notesHeading = '## Notes'

/** Renders all tables of a run as Markdown that is readable in a terminal. */
export function renderResults(results: Results): string {
  const parts = [
    renderGoals(results.samples),
    ...workloads
      .filter(({ name }) => results.samples.some(({ workload }) => workload === name))
      .map((workload) => renderWorkload(workload, results.samples)),
    ...(results.failures.length > 0
      ? [`Not measured:\n\n${results.failures.map((line) => `- ${line}`).join('\n')}`]
      : []),
  ]
  return parts.join('\n\n')
}

/** Writes RESULTS.md and keeps its handwritten section "Notes". */
export async function writeResultsFile(results: Results): Promise<void> {
  const existing = await readFile(resultsFile, 'utf8').catch(() => '')
  const start = existing.indexOf(`\n${notesHeading}`)
  const notes = start < 0 ? '' : existing.slice(start)
  const facts = [
    ...results.machine,
    ...Object.entries(results.versions).map(([name, version]) => `${name}: ${version}`),
    `Core ${results.cores.gateway} for the gateway, core ${results.cores.load} for load, upstream and PostgreSQL`,
    `Load average before the run: ${results.loadAverage}`,
    `From ${results.begun} to ${results.ended}`,
  ]
  const text = `# Results

\`${results.command}\` on

${facts.map((fact) => `- ${fact}`).join('\n')}

Medians of the turns; ratios are computed within each turn. \`README.md\` explains each figure.

${renderResults(results)}
${notes}`
  await writeFile(resultsFile, `${text.trimEnd()}\n`)
}

function renderGoals(samples: readonly Sample[]): string {
  const measured = goals.filter(({ workload, needs }) =>
    needs.every((name) => samples.some((sample) => sample.workload === workload && sample.target === name)),
  )
  const rows = measured.map((goal) => {
    const { value, range, turns } = judge(goal, samples)
    const passes = (limit: number) =>
      value === null ? '' : (goal.better === 'more' ? value >= limit : value <= limit) ? 'yes' : 'NO'
    const show = (number: number) => number.toFixed(goal.decimals)
    return [
      goal.title,
      value === null ? '-' : show(value),
      range === null ? '-' : `${show(range[0])} to ${show(range[1])}`,
      String(turns),
      show(goal.must),
      passes(goal.must),
      show(goal.aim),
      passes(goal.aim),
    ]
  })
  return table(['workload', 'Berth', 'range', 'turns', 'must', 'reached', 'aim', 'reached'], rows)
}

interface Column {
  title: string
  decimals: number
  of: (sample: Sample) => number | null
}

const milliseconds = (microseconds: number) => microseconds / 1000

const columns: Record<'closed' | 'rate' | 'hold' | 'burst' | 'idle', Column[]> = {
  closed: [
    { title: 'answers/s', decimals: 0, of: ({ load }) => load.answers / load.seconds },
    { title: 'CPU µs each', decimals: 1, of: ({ load, cpu }) => (cpu / load.answers) * 1e6 },
    {
      title: 'database µs each',
      decimals: 1,
      of: ({ load, helpersCpu }) => (helpersCpu === null ? null : (helpersCpu / load.answers) * 1e6),
    },
    { title: 'CPU %', decimals: 0, of: ({ load, cpu }) => (cpu / load.seconds) * 100 },
    {
      title: 'load %',
      decimals: 0,
      of: ({ load, upstreamCpu }) => ((load.loadCpu + upstreamCpu) / load.seconds) * 100,
    },
    { title: 'p50 ms', decimals: 2, of: ({ load }) => milliseconds(load.p50) },
    { title: 'p99 ms', decimals: 2, of: ({ load }) => milliseconds(load.p99) },
  ],
  rate: [
    { title: 'CPU µs each', decimals: 1, of: ({ load, cpu }) => (cpu / load.answers) * 1e6 },
    { title: 'p50 ms', decimals: 3, of: ({ load }) => milliseconds(load.p50) },
    { title: 'p99 ms', decimals: 3, of: ({ load }) => milliseconds(load.p99) },
    { title: 'max ms', decimals: 1, of: ({ load }) => milliseconds(load.max) },
  ],
  hold: [
    { title: 'events/s', decimals: 0, of: ({ load }) => load.events / load.seconds },
    { title: 'CPU µs each', decimals: 1, of: ({ load, cpu }) => (cpu / load.events) * 1e6 },
    { title: 'CPU %', decimals: 0, of: ({ load, cpu }) => (cpu / load.seconds) * 100 },
    { title: 'p50 ms', decimals: 3, of: ({ load }) => milliseconds(load.p50) },
    { title: 'p99 ms', decimals: 3, of: ({ load }) => milliseconds(load.p99) },
    { title: 'left running', decimals: 0, of: ({ leftRunning }) => leftRunning },
  ],
  burst: [
    { title: 'CPU µs each', decimals: 1, of: ({ load, cpu }) => (cpu / load.answers) * 1e6 },
    { title: 'p99 ms', decimals: 2, of: ({ load }) => milliseconds(load.p99) },
    {
      title: 'p99 ms before',
      decimals: 2,
      of: ({ steadyP99 }) => (steadyP99 === null ? null : milliseconds(steadyP99)),
    },
    { title: 'max ms', decimals: 1, of: ({ load }) => milliseconds(load.max) },
  ],
  idle: [
    { title: 'KB a stream', decimals: 1, of: ({ kilobytesPerStream }) => kilobytesPerStream },
    { title: 'left running', decimals: 0, of: ({ leftRunning }) => leftRunning },
  ],
}

function renderWorkload(workload: Workload, samples: readonly Sample[]): string {
  const { name } = workload
  const shown = columns[name === 'idle' || name === 'burst' ? name : workload.load.mode]
  const saturating = workload.load.mode === 'closed'
  const rows = targets.flatMap(({ name, title }) => {
    const own = samples.filter((sample) => sample.workload === workload.name && sample.target === name)
    if (own.length === 0) return []
    const valid = own.filter((sample) => isValid(sample, workload))
    // If every turn was discarded, show its figures with a mark.
    const used = valid.length > 0 ? valid : own
    const cells = shown.map(({ decimals, of }) => {
      const value = median(used.map(of).filter((number) => number !== null && Number.isFinite(number)))
      return value === null || (name === 'direct' && of === columns.closed[1]?.of)
        ? '-'
        : value.toFixed(decimals)
    })
    const errors = own.reduce(
      (sum, { load }) => sum + load.errors.status + load.errors.body + load.errors.broken,
      0,
    )
    return [[title, ...cells, `${valid.length} of ${own.length}`, errors === 0 ? '' : `${errors} wrong`]]
  })
  const heading = `### ${workload.title}${saturating ? ', closed loop' : ''}`
  const ceiling = saturating ? `\n\n${describeCeiling(workload, samples)}` : ''
  return `${heading}\n\n${table(['target', ...shown.map(({ title }) => title), 'turns kept', ''], rows)}${ceiling}`
}

/** Shows that the load's core is no bottleneck: its CPU time per response and the busiest target's rate. */
function describeCeiling(workload: Workload, samples: readonly Sample[]): string {
  const own = samples.filter((sample) => sample.workload === workload.name)
  const rate = ({ load }: Sample) => load.answers / load.seconds
  const direct = own.filter(({ target }) => target === 'direct')
  const ceiling = median(direct.map(rate))
  if (ceiling === null) return ''
  const each = (of: (sample: Sample) => number) =>
    ((median(direct.map((sample) => of(sample) / sample.load.answers)) ?? 0) * 1e6).toFixed(1)
  return (
    `Without a gateway, load and upstream on one core reach ${Math.round(ceiling)} responses per second ` +
    `(${each(({ load }) => load.loadCpu)} + ${each(({ upstreamCpu }) => upstreamCpu)} µs of CPU each).`
  )
}

function table(head: string[], rows: string[][]): string {
  const widths = head.map((title, index) =>
    Math.max(title.length, ...rows.map((row) => (row[index] ?? '').length), 3),
  )
  const line = (cells: string[]) =>
    `| ${cells.map((cell, index) => (index === 0 ? cell.padEnd(widths[index] ?? 0) : cell.padStart(widths[index] ?? 0))).join(' | ')} |`
  const rule = `| ${widths.map((width, index) => (index === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`
  return [line(head), rule, ...rows.map(line)].join('\n')
}
