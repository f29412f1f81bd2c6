// Compares the embedded engine with the llama-server in LLAMA_SERVER_COMMAND. README.md explains the output.
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { awaitTurn, describeMachine } from '../machine.ts'
import { median } from '../samples.ts'
import { startEmbedded, startLlamaServer, type Launch, type StartEngine } from './engines.ts'
import { prepareRandomModel, shapes } from './random-model.ts'
import { rows as allRows, type Row } from './rows.ts'

const weights = resolve(import.meta.dirname, '../../catalog/weights')
const tiny = `${weights}/berth-tiny.gguf`

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    // What the server gives an engine by default: it expects two busy engines.
    threads: { type: 'string', default: String(Math.max(1, Math.floor(availableParallelism() / 2))) },
    only: { type: 'string', multiple: true },
  },
})
const command = process.env['LLAMA_SERVER_COMMAND']
if (command === undefined) throw new Error('Set LLAMA_SERVER_COMMAND to the path of llama-server.')
const rounds = Number(options.rounds)
const threads = Number(options.threads)
const rows = allRows.filter(({ name }) => options.only?.some((word) => name.includes(word)) ?? true)

process.once('SIGINT', () => process.exit(1)).once('SIGTERM', () => process.exit(1))
await awaitTurn()
const models = {
  random: await prepareRandomModel(tiny, shapes.half),
  tiny,
  embedding: `${weights}/berth-tiny-embedding.gguf`,
}
const programs: readonly StartEngine[] = [startEmbedded, startLlamaServer(command)]

/** The figures of one row: one pair of the figure and one of the CPU time per round, ours first. */
interface Figures {
  measured: [number, number][]
  cpu: [number, number][]
}
const figures = new Map<Row, Figures>(rows.map((row) => [row, { measured: [], cpu: [] }]))
const groups = Map.groupBy(rows, ({ model, launch }) => JSON.stringify([model, launch]))
for (let round = 0; round < rounds; round++) {
  for (const group of groups.values()) await measureGroup(group, round)
}
print()

/** Measures rows on fresh engines. The engines take turns; their order changes with the round. */
async function measureGroup(group: readonly Row[], round: number): Promise<void> {
  const { model, launch } = group[0]!
  const order = round % 2 === 0 ? [0, 1] : [1, 0]
  await using cleanup = new AsyncDisposableStack()
  const full: Launch = { ...launch, threads, model: models[model] }
  const engines = new Map<number, Awaited<ReturnType<StartEngine>>>()
  for (const index of order) {
    const engine = await programs[index]!(full)
    cleanup.defer(() => engine.stop())
    engines.set(index, engine)
  }
  for (const row of group) {
    const measured: [number, number] = [0, 0]
    const cpu: [number, number] = [0, 0]
    for (const index of order) {
      const engine = engines.get(index)!
      const before = engine.cpu()
      measured[index] = await row.measure(engine)
      cpu[index] = engine.cpu() - before
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
  console.log([...describeMachine(), `${threads} threads, ${rounds} rounds`].join('\n'))
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
