// Gives the readers of model files small changes of known inputs, and keeps those that run new code, as V8
// counts it. `--seconds 600` sets the time, default a minute; `--seed` repeats a run. Prints a finding's
// input in base64 and exits with 1.

import { Session } from 'node:inspector/promises'
import type { Profiler } from 'node:inspector'
import { parseArgs } from 'node:util'
import fc from 'fast-check'
import { makePeftAdapter } from '../../server/test/support/hub/adapter-repositories.ts'
import {
  makeGguf,
  makeGgufAdapter,
  makeSafetensors,
  qwenMetadata,
} from '../../server/test/support/hub/model-files.ts'
import { qwenConfig } from '../../server/test/support/hub/test-repositories.ts'
import { fuzz } from './model-files.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now()) },
  },
})
const maxBytes = 65_536
const maxMilliseconds = 1000
/** V8 takes longer to report the coverage than a reader to refuse an input. */
const batchSize = 100
const ownCode = '/features/own-models/'

/** Valid files, which the fuzzer changes. The first byte names the reader. */
function makeSeeds(): Buffer[] {
  const json = (value: unknown) => Buffer.from(JSON.stringify(value))
  const weights = { num_bits: 4, type: 'int', group_size: 128 }
  const quantization_config = { quant_method: 'compressed-tensors', config_groups: { a: { weights } } }
  const windows = { sliding_window: 128, layer_types: ['full_attention', 'linear_attention'] }
  const tensors = makeSafetensors({ 'a.weight': ['BF16', [4, 4]], 'a.qweight': ['I32', [2, 2]] })
  const adapter = makePeftAdapter({ base: 'a/b', rank: 2, hiddenSize: 2 })
  const ggufAdapter = makeGgufAdapter({ layers: 1, hiddenSize: 2 }, 1, 'https://huggingface.co/a/b')
  const files = [
    [0, makeGguf({ ...qwenMetadata, 'tokenizer.ggml.tokens': ['a', 'b'] }).subarray(8)],
    [0, ggufAdapter.subarray(8)],
    [1, tensors.subarray(8, -48)],
    [1, adapter['adapter_model.safetensors']!.subarray(8, -32)],
    [2, json({ text_config: { ...qwenConfig, ...windows }, quantization_config })],
    [3, Buffer.from('https://huggingface.co/a/b/tree/main\na-Q4_K_M-00001-of-00002.gguf\nmmproj-F16.gguf')],
    [4, adapter['adapter_config.json']!],
  ] as const
  return files.map(([kind, bytes]) => Buffer.concat([Buffer.from([kind]), bytes]))
}

const interesting = [0, 1, 7, 8, 9, 127, 128, 255]
const words = [
  '{',
  '}',
  '[',
  ']',
  '"',
  ',',
  ':',
  '-1',
  '1e999',
  'null',
  '"__proto__"',
  '"constructor"',
  '\ud800',
  '../',
]

/** One change of the bytes of a file. */
const mutation = fc.oneof(
  fc.record({ at: fc.nat(), byte: fc.oneof(fc.constantFrom(...interesting), fc.nat(255)) }),
  fc.record({ at: fc.nat(), insert: fc.constantFrom(...words.map((word) => Buffer.from(word))) }),
  fc.record({
    at: fc.nat(),
    insert: fc.constantFrom(Buffer.alloc(8, 255), Buffer.alloc(8), Buffer.alloc(4, 9)),
  }),
  fc.record({ at: fc.nat(), remove: fc.integer({ min: 1, max: 16 }) }),
  fc.record({ at: fc.nat(), copy: fc.nat(), length: fc.integer({ min: 1, max: 64 }) }),
)
type Mutation = typeof mutation extends fc.Arbitrary<infer Value> ? Value : never

function mutate(bytes: Buffer, change: Mutation): Buffer {
  const at = bytes.length < 2 ? 1 : 1 + (change.at % (bytes.length - 1))
  const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)]
  if ('byte' in change) return Buffer.concat([before, Buffer.from([change.byte]), after.subarray(1)])
  if ('insert' in change) return Buffer.concat([before, change.insert, after])
  if ('remove' in change) return Buffer.concat([before, after.subarray(change.remove)])
  const from = change.copy % bytes.length
  return Buffer.concat([before, bytes.subarray(from, from + change.length), after])
}

/** Starts to measure coverage. Returns a function that names the parts that ran since its last call. */
async function measureCoverage(): Promise<() => Promise<string[]>> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: false, detailed: true })
  return async () => {
    const { result } = await session.post('Profiler.takePreciseCoverage')
    return result
      .filter(({ url }) => url.includes(ownCode))
      .flatMap(({ scriptId, functions }) => functions.map(({ ranges }) => describeRanges(scriptId, ranges)))
  }
}

/** V8 lists a function and the blocks in it that did not run. */
function describeRanges(script: string, ranges: readonly Profiler.CoverageRange[]): string {
  return `${script} ${ranges.map(({ startOffset, endOffset, count }) => `${startOffset}-${endOffset}:${count}`).join(' ')}`
}

/** Runs one input. Resolves to why it is a finding; null if it isn't. */
async function findFault(input: Buffer): Promise<string | null> {
  const started = process.cpuUsage()
  try {
    await fuzz(input)
  } catch (error) {
    return error instanceof Error ? (error.stack ?? error.message) : String(error)
  }
  const took = process.cpuUsage(started).user / 1000
  return took > maxMilliseconds ? `It took ${Math.round(took)} ms.` : null
}

/** Runs inputs and resolves to the patterns of coverage that none had before. Exits with 1 at a finding. */
async function run(inputs: readonly Buffer[]): Promise<string[]> {
  for (const input of inputs) {
    const fault = await findFault(input)
    if (fault === null) continue
    console.error(`${fault}\nSeed ${values.seed}, input in base64:\n${input.toString('base64')}`)
    process.exit(1)
  }
  return (await readCoverage()).filter((pattern) => !seen.has(pattern))
}

const readCoverage = await measureCoverage()
const seen = new Set<string>()
const corpus = makeSeeds()
for (const pattern of await run(corpus)) seen.add(pattern)
const stop = performance.now() + Number(values.seconds) * 1000
const changes = fc.sample(fc.array(mutation, { minLength: 1, maxLength: 6 }), {
  seed: Number(values.seed),
  numRuns: 50_000,
})
let runs = 0
while (performance.now() < stop) {
  const batch = Array.from({ length: batchSize }, () => {
    // Numbers without a common divisor visit all pairs of inputs and changes.
    const parent = corpus[(runs * 7) % corpus.length]!
    return changes[(runs++ * 31) % changes.length]!.reduce(mutate, parent).subarray(0, maxBytes)
  })
  const ofBatch = await run(batch)
  if (ofBatch.length === 0) continue
  for (const input of batch) {
    const patterns = await run([input])
    if (patterns.length > 0) corpus.push(input)
    for (const pattern of patterns) seen.add(pattern)
  }
  for (const pattern of ofBatch) seen.add(pattern)
}
console.log(
  `${runs} inputs in ${values.seconds} s, seed ${values.seed}: ${seen.size} patterns of coverage, ${corpus.length} inputs kept, no finding`,
)
process.exit(0)
