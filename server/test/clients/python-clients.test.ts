// Unmodified Python clients under `berth run`, on the embedded engine. Each script prints what its checks
// returned.
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { signIn } from './support/signed-in.ts'
import type { SignedIn } from './support/signed-in.ts'

const scripts = join(import.meta.dirname, 'python')
const sum = expect.stringContaining('42')
const schema = { n: expect.any(Number) }
const tools = { name: 'get_weather', arguments: { city: 'Paris' }, answer: expect.stringMatching(/./) }
const embeddings = expect.toSatisfy(
  (vector: unknown) => Array.isArray(vector) && vector.length === 128 && Math.hypot(...vector) > 0.99,
)
const stream = expect.toSatisfy(
  (pieces: unknown) => Array.isArray(pieces) && pieces.length > 5 && pieces.join('').includes('fox'),
)
const errors = (notFound: string, tooLong: string) => [
  [notFound, 404, expect.stringContaining('"none"')],
  [tooLong, 400, expect.stringContaining('maximum context length is')],
]

let started: SignedIn
beforeAll(async () => {
  started = await signIn()
})
afterAll(() => started.close())

/** Runs a script while its own deployment still starts, and returns the results of its checks. */
async function runScript(environment: string, script: string): Promise<Record<string, unknown>> {
  const { client, shell, server } = started
  const { body } = await client.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })
  const python = join(process.env[environment] ?? '', 'bin/python')
  const { code, stdout, stderr } = await shell.berth(['run', '--', python, join(scripts, script), body.id])
  await client.delete(`/api/v1/model-deployments/${body.id}`)
  expect(code, stderr).toBe(0)
  // An abort reaches the engine.
  await expect.poll(() => server.application.inference.inFlight.total).toBe(0)
  return JSON.parse(stdout.trim().split('\n').at(-1)!)
}

test.each([
  [
    'openai',
    'TEST_CLIENTS_GATEWAY',
    'openai_sdk.py',
    { chat: sum, stream, tools, schema, responses: sum, embeddings, abort: 'left', retry: sum },
    errors('NotFoundError', 'BadRequestError'),
  ],
  [
    'anthropic',
    'TEST_CLIENTS_GATEWAY',
    'anthropic_sdk.py',
    { chat: sum, stream, tools, schema, count: expect.any(Number), abort: 'left', retry: sum },
    errors('NotFoundError', 'BadRequestError'),
  ],
  [
    'LiteLLM',
    'TEST_CLIENTS_GATEWAY',
    'litellm_client.py',
    { chat: sum, stream, tools, schema, messages: sum, embeddings, abort: 'left', retry: sum },
    errors('NotFoundError', 'ContextWindowExceededError'),
  ],
  [
    'LangChain',
    'TEST_CLIENTS_FRAMEWORKS',
    'langchain_client.py',
    {
      chat: sum,
      stream,
      tools,
      schema,
      responses: sum,
      messages: sum,
      embeddings,
      abort: 'left',
      retry: sum,
    },
    errors('OpenAIModelNotFoundError', 'OpenAIContextOverflowError'),
  ],
  [
    'OpenAI Agents',
    'TEST_CLIENTS_FRAMEWORKS',
    'openai_agents.py',
    { chat: sum, completions: sum, stream, tools, schema, abort: 'left', retry: sum },
    errors('NotFoundError', 'BadRequestError'),
  ],
  [
    'Instructor',
    'TEST_CLIENTS_FRAMEWORKS',
    'instructor_client.py',
    {
      tools: { city: 'Paris' },
      schema,
      stream: expect.toSatisfy((pieces: unknown) => Array.isArray(pieces) && pieces.length > 1),
      abort: 'left',
      messages: schema,
      retry: schema,
    },
    [
      [expect.any(String), null, expect.stringContaining('"none"')],
      [expect.any(String), null, expect.stringContaining('maximum context length is')],
    ],
  ],
  [
    'LlamaIndex',
    'TEST_CLIENTS_LLAMA_INDEX',
    'llama_index_client.py',
    {
      chat: sum,
      stream,
      tools,
      schema,
      completions: expect.any(String),
      embeddings,
      abort: 'left',
      retry: sum,
    },
    errors('NotFoundError', 'BadRequestError'),
  ],
  [
    'pydantic-ai',
    'TEST_PYDANTIC_AI',
    'pydantic_ai_client.py',
    { chat: sum, responses: sum, stream, tools, schema, embeddings, abort: 'left', retry: sum },
    errors('ModelNotFoundError', 'ModelContextWindowExceededError'),
  ],
])('%s', async (_, environment, script, expected, expectedErrors) => {
  expect(await runScript(environment, script)).toEqual({ ...expected, errors: expectedErrors })
})
