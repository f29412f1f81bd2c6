import { expect, test } from 'vitest'
import { runCatalogTool, startHub } from './hub-double.ts'
import type { HubRepository } from './hub-double.ts'

const catalog = `models:
  - id: chat
    model_name: chat
    display_name: Chat
    provider: A
    family: chat
    model_type: LLM
    description: A model.
    license: mit
    context_length: 4096
    engines: { llama_cpp: { projector: eyes.gguf } }
    sizes:
      - billions: 1
        architecture: { parameters: 1000000000, layers: 8, hidden_size: 64, attention_heads: 8, kv_heads: 8, head_dim: 64, vocabulary_size: 1000 }
        variants:
          - format: ggufv2
            quantizations: [Q4_0, Q8_0]
            weights: { huggingface: a/chat-GGUF, file: "chat-{quantization_lower}.gguf", parts: { Q8_0: 2 } }
          - { format: pytorch, quantizations: [none], weight_bytes: { none: 2000000000 }, weights: { huggingface: a/chat, revision: v2 } }
          - { format: fp8, quantizations: [fp8], weights: { huggingface: a/locked, gated: true } }
    default: { format: ggufv2, billions: 1, quantization: Q4_0 }
`

/** A hub that agrees with the catalog. */
const agreeing = {
  'a/chat-GGUF@main': {
    digit: '1',
    files: {
      'chat-q4_0.gguf': 575_000_000,
      'chat-q8_0-00001-of-00002.gguf': 1_000_000_000,
      'chat-q8_0-00002-of-00002.gguf': 62_500_000,
      'eyes.gguf': 5,
    },
    ggufContext: 4096,
  },
  'a/chat@v2': {
    digit: '2',
    files: {
      'config.json': 9,
      'model-1.safetensors': 1.9e9,
      'model-2.safetensors': 0.1e9,
      'consolidated.safetensors': 2e9,
    },
    config: { max_position_embeddings: 512, text_config: { max_position_embeddings: 8192 } },
  },
  'a/locked@main': { digit: '3', files: { 'config.json': 9, 'model.safetensors': 1.03e9 }, gated: 'manual' },
} satisfies Record<string, HubRepository>

async function runCheck(
  changes: Record<string, HubRepository | undefined> = {},
  { fails, text = catalog }: { fails?: (attempt: number) => boolean; text?: string } = {},
) {
  const repositories = Object.fromEntries(
    Object.entries({ ...agreeing, ...changes }).filter(([, repository]) => repository !== undefined),
  ) as Record<string, HubRepository>
  const hub = await startHub(repositories, fails === undefined ? {} : { fails })
  const { run } = await runCatalogTool('catalog-check', text, hub.origin)
  return { hub, run, rows: run.stdout.split('\n').map((line) => line.split(/ {2,}/)) }
}

test('npm run catalog:check: a table of what agrees, with sizes, contexts and access', async () => {
  const { hub, run, rows } = await runCheck()
  expect(rows).toEqual([
    ['MODEL', 'REPOSITORY', 'SIZE', 'CONTEXT', 'ACCESS', 'RESULT'],
    ['chat 1B ggufv2', 'a/chat-GGUF', '575 MB to 1.1 GB', '4096', 'open', 'agrees'],
    ['chat 1B pytorch', 'a/chat', '2.0 GB', '4096 of 8192', 'open', 'agrees'],
    ['chat 1B fp8', 'a/locked', '1.0 GB', '–', 'gated', 'agrees'],
    [''],
    [`0 of 3 sources differ from ${hub.origin}.`],
    [''],
  ])
  expect(run).toMatchObject({ code: 0, stderr: '' })
  expect(hub.requests.every(({ headers }) => headers.authorization === 'Bearer hf_secret')).toBe(true)
})

test.each<[string, Record<string, HubRepository | undefined>, string]>([
  [
    'a repository',
    { 'a/chat@v2': undefined },
    'a/chat: the Hub answered 401. It does not exist, or HF_TOKEN must be of a user who accepted its license.',
  ],
  [
    'a file',
    { 'a/chat-GGUF@main': { digit: '1', files: { 'chat-q4_0.gguf': 575_000_000, 'eyes.gguf': 5 } } },
    'a/chat-GGUF has no chat-q8_0-00001-of-00002.gguf, chat-q8_0-00002-of-00002.gguf.',
  ],
  [
    'a projector',
    {
      'a/chat-GGUF@main': {
        ...agreeing['a/chat-GGUF@main'],
        files: { ...agreeing['a/chat-GGUF@main'].files, 'eyes.gguf': undefined },
      },
    },
    'a/chat-GGUF has no eyes.gguf.',
  ],
  ['weights', { 'a/chat@v2': { digit: '2', files: { 'config.json': 9 } } }, 'a/chat has no weights.'],
  [
    'a named size',
    { 'a/chat@v2': { ...agreeing['a/chat@v2'], files: { 'config.json': 9, 'model.safetensors': 2.1e9 } } },
    'none has 2100000000 bytes, but weight_bytes is 2000000000',
  ],
  [
    'an estimated size',
    { 'a/locked@main': { digit: '3', files: { 'config.json': 9, 'model.safetensors': 2e9 }, gated: 'auto' } },
    'fp8 has 2000000000 bytes, but Berth estimates 1.0 GB; set weight_bytes',
  ],
  [
    'a context length',
    { 'a/chat-GGUF@main': { ...agreeing['a/chat-GGUF@main'], ggufContext: 2048 } },
    'context_length is 4096, but the model has 2048',
  ],
  [
    'a license to accept',
    { 'a/chat@v2': { ...agreeing['a/chat@v2'], gated: 'auto' } },
    'gated is false, but the hub says true',
  ],
])('npm run catalog:check: a difference of %s', async (_subject, changes, expected) => {
  const { run, rows } = await runCheck(changes)
  const [name] = Object.keys(changes)
  const row = rows.find(([, repository]) => repository === name!.split('@')[0])
  expect(row?.at(-1)).toBe(expected)
  expect(run.code).toBe(1)
})

test('npm run catalog:check: says plainly that the hub is not reachable', async () => {
  const gone = await startHub({})
  await gone.close()
  const { run } = await runCatalogTool('catalog-check', catalog, gone.origin)
  expect(run).toMatchObject({ code: 2, stdout: '' })
  expect(run.stderr).toMatch(
    /^The hub at http.+ is not reachable: .+ECONNREFUSED.+ Nothing was compared\.\n$/,
  )
  const broken = await runCheck({}, { fails: () => true })
  expect(broken.run.stderr).toMatch(/is not reachable: it answered 503\. Nothing was compared\.\n$/)
})

test('npm run catalog:check: names what it could not compare', async () => {
  const { run, rows } = await runCheck({}, { fails: (attempt) => attempt > 1 })
  expect(rows[1]?.at(-1)).toBe('not compared: a/chat-GGUF: the Hub answered 503.')
  expect(run.stdout).toContain('3 could not be compared, because the hub did not answer.')
  expect(run.code).toBe(2)
})

test('npm run catalog:check: a catalog with mistakes', async () => {
  const { run, hub } = await runCheck({}, { text: catalog.replace('license: mit', 'licence: mit') })
  expect(run).toMatchObject({ code: 1, stderr: expect.stringContaining('licence') })
  expect(hub.requests).toEqual([])
})
