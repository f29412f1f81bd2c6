import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parse } from 'yaml'
import { describeRandomModel, prepareRandomModel, shapes } from '../../../bench/engine/random-model.ts'
import type { ModelShape } from '../../../bench/engine/random-model.ts'
import { deriveEngineKey } from '../../src/features/deployments/serving/engine-spec.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'
import { describeModel, startVllmServer } from '../vllm/vllm-server.ts'

/** The tokens of an engine or of a bill. */
export interface Tokens {
  input: number
  output: number
}

/** An engine whose bill is compared with its own totals. */
export interface AbortEngine {
  start(): Promise<TestServer>
  chatModel: string
  embeddingModel: string
  /** Members of chats that make answers long */
  extras: object
  /** Counters in its `/metrics` that add up to the tokens */
  counters: { input: readonly string[]; output: readonly string[]; busy: readonly string[] }
  /** True if the bill must equal the totals, whole answers included */
  isExact: boolean
  /**
   * True if the bill has prompts that the totals leave out, because the caller left before the first token
   */
  tokenizes: boolean
}

/**
 * A decode step of the bundled model is shorter than the way of an abort to its engine, which is unlike the
 * models that people run.
 */
const slowShape: ModelShape = { ...shapes.half, name: 'random-8-layers', layers: 8, vocabulary: 32_000 }

/** The engines of `npm run test:aborts`, by the value of `--engine`. */
export const abortEngines: Record<string, AbortEngine> = {
  embedded: {
    start: () => startTestServer(),
    chatModel: 'berth-tiny',
    embeddingModel: 'berth-tiny-embedding',
    extras: {},
    counters: {
      input: ['berth_engine_prompt_tokens_total'],
      output: ['berth_engine_completion_tokens_total'],
      busy: [],
    },
    isExact: true,
    tokenizes: false,
  },
  'llama-server': {
    start: startLlamaServer,
    chatModel: slowShape.name,
    embeddingModel: 'berth-tiny-embedding',
    extras: { ignore_eos: true },
    counters: {
      input: ['llamacpp:prompt_tokens_total', 'llamacpp:prompt_tokens_cached_total'],
      output: ['llamacpp:tokens_predicted_total'],
      busy: ['llamacpp:requests_processing', 'llamacpp:requests_deferred'],
    },
    isExact: false,
    tokenizes: false,
  },
  vllm: {
    start: () =>
      startVllmServer([
        describeModel('tiny', 'tool_parser: hermes'),
        describeModel('tiny-embedding', '', 'embedding'),
      ]),
    chatModel: 'tiny',
    embeddingModel: 'tiny-embedding',
    extras: { ignore_eos: true },
    counters: {
      input: ['vllm:prompt_tokens_total'],
      output: ['vllm:generation_tokens_total'],
      busy: ['vllm:num_requests_running', 'vllm:num_requests_waiting'],
    },
    isExact: false,
    tokenizes: true,
  },
}

/** Reads what the engine of a deployment counted since its start, and how many requests it processes. */
export async function readEngine(
  { application: { db, secretKey } }: TestServer,
  id: string,
  { counters }: AbortEngine,
): Promise<Tokens & { busy: number }> {
  const { engine_url: url } = await db
    .selectFrom('instances')
    .select('engine_url')
    .where('deployment_id', '=', id)
    .executeTakeFirstOrThrow()
  const authorization = `Bearer ${deriveEngineKey(secretKey, id)}`
  const metrics = await (await fetch(`${url}/metrics`, { headers: { authorization } })).text()
  const add = (names: readonly string[]) =>
    names.reduce(
      (sum, name) => sum + Number(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, 'm').exec(metrics)![1]),
      0,
    )
  return { input: add(counters.input), output: add(counters.output), busy: add(counters.busy) }
}

/** Starts a server with llama-server, a chat model with random weights and the bundled embedding model. */
async function startLlamaServer(): Promise<TestServer> {
  const catalog = resolve(import.meta.dirname, '../../../catalog')
  const file = await prepareRandomModel(join(catalog, 'weights/berth-tiny.gguf'), slowShape)
  const { models } = parse(readFileSync(join(catalog, 'models.yaml'), 'utf8')) as { models: BundledModel[] }
  const embedding = models.find(({ id }) => id === 'berth-tiny-embedding')!
  for (const { weights } of embedding.sizes.flatMap(({ variants }) => variants)) {
    weights.file = join(catalog, weights.file)
  }
  const folder = mkdtempSync(join(tmpdir(), 'berth-aborts-'))
  const chat = describeRandomModel(slowShape, { file, bytes: statSync(file).size })
  // JSON is YAML.
  writeFileSync(join(folder, 'models.yaml'), `{"models":[${chat},${JSON.stringify(embedding)}]}`)
  const server = await startTestServer({
    settings: {
      CATALOG_FILE: join(folder, 'models.yaml'),
      LLAMA_SERVER_COMMAND: process.env['LLAMA_SERVER_COMMAND'] ?? '',
    },
  })
  return {
    ...server,
    async close() {
      await server.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

interface BundledModel {
  id: string
  sizes: { variants: { weights: { file: string } }[] }[]
}
