// Sends the held-out prompts to a model through the engine's HTTP API and prints the share of correct
// answers. Usage: `node training/evaluate.ts [--model FILE] [--embedding-model FILE] [--verbose]`
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import OpenAI from 'openai'
import type { ChatCompletionMessageParam, ChatCompletionTool } from 'openai/resources'

const ALIAS = 'model'
const MAX_TOKENS = 600

/** A line of held-out.jsonl: a conversation and the check of its answer. */
interface HeldOut {
  kind: string
  messages: ChatCompletionMessageParam[]
  /** A regular expression that the answer must match */
  accept?: string
  /** The expected JSON value and the requested schema */
  json?: Record<string, unknown>
  schema?: Record<string, unknown>
  /** The expected tool call */
  call?: { name: string; arguments: Record<string, unknown> }
  tools?: ChatCompletionTool[]
}

/** A line of held-out-pairs.jsonl. */
interface Pair {
  text: string
  paraphrase: string
  unrelated: string
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      model: { type: 'string', default: join(import.meta.dirname, '../catalog/weights/berth-tiny.gguf') },
      'embedding-model': {
        type: 'string',
        default: join(import.meta.dirname, '../catalog/weights/berth-tiny-embedding.gguf'),
      },
      verbose: { type: 'boolean', default: false },
    },
  })
  {
    await using engine = await startEngine(values.model, 'chat')
    await evaluateAnswers(engine.client, values.verbose)
    await measureSpeed(engine.client)
  }
  await using engine = await startEngine(values['embedding-model'], 'embedding')
  await evaluateEmbeddings(engine.client)
}

async function evaluateAnswers(client: OpenAI, verbose: boolean): Promise<void> {
  const records = await readLines<HeldOut>('held-out.jsonl')
  const kinds = new Map<string, { right: number; asked: number }>()
  let ended = 0
  for (const record of records) {
    const { choices } = await client.chat.completions.create({
      model: ALIAS,
      messages: record.messages,
      temperature: 0,
      max_tokens: MAX_TOKENS,
      ...(record.tools && { tools: record.tools }),
      ...(record.schema && {
        response_format: { type: 'json_schema', json_schema: { name: record.kind, schema: record.schema } },
      }),
    })
    const [choice] = choices
    if (choice === undefined) throw new Error('An answer without choices.')
    if (choice.finish_reason !== 'length') ended++
    const call = choice.message.tool_calls?.[0]
    const answer = call?.type === 'function' ? call.function : (choice.message.content ?? '')
    const right = isRight(record, answer)
    const figures = kinds.get(record.kind) ?? { right: 0, asked: 0 }
    kinds.set(record.kind, { right: figures.right + Number(right), asked: figures.asked + 1 })
    if (verbose && !right) console.log(`${JSON.stringify(record)}\n  ${JSON.stringify(answer)}`)
  }
  for (const [kind, { right, asked }] of kinds) print(kind, `${right} of ${asked}`, percent(right / asked))
  print('ended without a limit', `${ended} of ${records.length}`, percent(ended / records.length))
}

function isRight(record: HeldOut, answer: string | { name: string; arguments: string }): boolean {
  if (typeof answer !== 'string') {
    const { call } = record
    return call?.name === answer.name && isSame(parse(answer.arguments), call.arguments)
  }
  if (record.call !== undefined) return false
  if (record.json !== undefined) return isSame(parse(answer), record.json)
  return new RegExp(record.accept ?? '').test(answer)
}

/** Measures the median time to the first token and the tokens per second of a long answer. */
async function measureSpeed(client: OpenAI): Promise<void> {
  const first: number[] = []
  const rates: number[] = []
  for (let end = 40; end < 50; end++) {
    const asked = performance.now()
    let begun = 0
    let tokens = 0
    const stream = await client.chat.completions.create({
      model: ALIAS,
      messages: [{ role: 'user', content: `Count from 1 to ${end}.` }],
      temperature: 0,
      max_tokens: MAX_TOKENS,
      stream: true,
      stream_options: { include_usage: true },
    })
    for await (const { choices, usage } of stream) {
      if (begun === 0 && (choices[0]?.delta.content ?? '') !== '') begun = performance.now()
      tokens = usage?.completion_tokens ?? tokens
    }
    first.push(begun - asked)
    rates.push(((tokens - 1) * 1000) / (performance.now() - begun))
  }
  print('first token', `${median(first).toFixed(1)} ms`)
  print('speed', `${median(rates).toFixed(0)} tokens/s`)
}

/** Counts the sentences whose vector is closer to a paraphrase than to an unrelated sentence. */
async function evaluateEmbeddings(client: OpenAI): Promise<void> {
  const pairs = await readLines<Pair>('held-out-pairs.jsonl')
  let right = 0
  for (const { text, paraphrase, unrelated } of pairs) {
    const [self, near, far] = await embed(client, [text, paraphrase, unrelated])
    if (similarity(self!, near!) > similarity(self!, far!)) right++
  }
  print('paraphrase closer', `${right} of ${pairs.length}`, percent(right / pairs.length))
  const shown = [
    'The cat sleeps on the sofa.',
    'A kitten is napping on the couch.',
    'The stock market fell today.',
    'Share prices dropped this morning.',
    'How do I deploy a model?',
    'Explain how to launch a model.',
  ]
  const vectors = await embed(client, shown)
  for (const [index, vector] of vectors.entries()) {
    const row = vectors.map((other) => similarity(vector, other).toFixed(2).padStart(6)).join('')
    console.log(`${shown[index]!.padEnd(36)}${row}`)
  }
}

async function embed(client: OpenAI, input: string[]): Promise<number[][]> {
  const { data } = await client.embeddings.create({ model: ALIAS, input })
  return data.map(({ embedding }) => embedding)
}

/** Starts an engine that stops when the scope ends. */
async function startEngine(model: string, type: 'chat' | 'embedding') {
  const cleanup = new AsyncDisposableStack()
  const directory = await mkdtemp(join(tmpdir(), 'berth-evaluate-'))
  cleanup.defer(() => rm(directory, { recursive: true, force: true }))
  const nonce = randomBytes(16).toString('hex')
  const key = randomBytes(16).toString('hex')
  await writeFile(join(directory, 'launch.json'), JSON.stringify({ nonce }))
  const flags = {
    'state-dir': directory,
    nonce,
    model,
    alias: ALIAS,
    type,
    context: '2048',
    parallel: '1',
    threads: '1',
    'gpu-layers': '0',
  }
  const args = Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, value])
  const child = spawn(process.execPath, [join(import.meta.dirname, '../engine/src/main.ts'), ...args], {
    env: { ...process.env, BERTH_ENGINE_KEY: key },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const exited = once(child, 'exit')
  cleanup.defer(async () => {
    child.kill()
    await exited
  })
  while (child.exitCode === null) {
    const state = parse(await readFile(join(directory, 'engine.json'), 'utf8').catch(() => 'null')) as {
      phase: string
      port: number
    } | null
    if (state?.phase === 'ready') {
      const client = new OpenAI({ baseURL: `http://127.0.0.1:${state.port}/v1`, apiKey: key })
      return { client, [Symbol.asyncDispose]: () => cleanup.disposeAsync() }
    }
    await setTimeout(20)
  }
  await cleanup.disposeAsync()
  throw new Error(`The engine exited with code ${child.exitCode}.`)
}

async function readLines<Line>(name: string): Promise<Line[]> {
  const text = await readFile(join(import.meta.dirname, name), 'utf8')
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** True when two flat objects have equal entries, in any order. */
function isSame(left: unknown, right: Record<string, unknown>): boolean {
  if (typeof left !== 'object' || left === null) return false
  const values = Object.entries(left)
  return values.length === Object.keys(right).length && values.every(([key, value]) => right[key] === value)
}

/** The cosine similarity of two unit vectors. */
function similarity(left: readonly number[], right: readonly number[]): number {
  return left.reduce((sum, value, index) => sum + value * right[index]!, 0)
}

const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
const percent = (share: number): string => `${(share * 100).toFixed(1)} %`

function print(name: string, ...columns: string[]): void {
  console.log(name.padEnd(22) + columns.map((column) => column.padStart(14)).join(''))
}

await main()
