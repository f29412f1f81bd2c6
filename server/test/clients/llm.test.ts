import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { signIn } from './support/signed-in.ts'
import type { SignedIn } from './support/signed-in.ts'

const run = promisify(execFile)
const program = join(process.env['TEST_CLIENTS_GATEWAY'] ?? '', 'bin/llm')

let started: SignedIn
let connection: Awaited<ReturnType<SignedIn['connect']>>
let folder: string
beforeAll(async () => {
  started = await signIn()
  connection = await started.connect()
  folder = await mkdtemp(join(tmpdir(), 'berth-llm-'))
  await writeModels('none')
})
afterAll(async () => {
  await connection?.close()
  await started?.close()
  await rm(folder, { recursive: true, force: true })
})

/** Tells the program the models `tiny`, `none`, and `starting`, whose name here is given. */
async function writeModels(starting: string): Promise<void> {
  const model = (id: string, name: string) =>
    `- model_id: ${id}\n  model_name: ${name}\n  api_base: ${connection.url}\n  api_key_name: openai\n  supports_tools: true\n  supports_schema: true\n`
  const models = model('tiny', 'berth-tiny') + model('none', 'none') + model('starting', starting)
  await writeFile(join(folder, 'extra-openai-models.yaml'), models)
}

function start(...args: string[]) {
  const env = { PATH: process.env['PATH'], HOME: folder, LLM_USER_PATH: folder }
  const given = ['prompt', '--key', connection.key, '-o', 'temperature', '0', ...args]
  const running = run(program, given, { env })
  // It adds what is piped in to the prompt.
  running.child.stdin?.end()
  return running
}

const llm = async (...args: string[]): Promise<string> => (await start(...args)).stdout

test('llm answers whole and as a stream, calls a tool, and follows a schema', async () => {
  const sum = 'What is 27 + 15?'
  expect(await llm('-m', 'tiny', sum)).toContain('42')
  expect(await llm('-m', 'tiny', '--no-stream', sum)).toContain('42')
  const weather = `def get_weather(city: str) -> str:\n    """Get the weather of a city."""\n    return f"Sun over {city}."`
  await llm('-m', 'tiny', '--functions', weather, 'What is the weather in Paris?')
  const { stdout } = await run(program, ['logs', '-n', '1', '--json'], {
    env: { PATH: process.env['PATH'], LLM_USER_PATH: folder },
  })
  expect(stdout).toContain('Sun over Paris.')
  expect(JSON.parse(await llm('-m', 'tiny', '--schema', 'n int', 'Give me a number.'))).toEqual({
    n: expect.any(Number),
  })
})

test('llm shows our errors', async () => {
  await expect(llm('-m', 'none', 'Hello!')).rejects.toThrow(/called "none"/)
})

test('Ctrl-C during an answer of llm stops the engine', async () => {
  const { inFlight } = started.server.application.inference
  const running = start(
    '-m',
    'tiny',
    '-o',
    'temperature',
    '1',
    '-o',
    'max_tokens',
    '1000',
    'Count from 1 to 500.',
  )
  await once(running.child.stdout!, 'data')
  expect(inFlight.total).toBe(1)
  running.child.kill('SIGINT')
  await expect(running).rejects.toThrow(/Aborted|SIGINT|failed/)
  await expect.poll(() => inFlight.total).toBe(0)
})

test('llm repeats a request until its deployment runs', async () => {
  const { body } = await started.client.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })
  await writeModels(body.id)
  expect(await llm('-m', 'starting', 'What is 27 + 15?')).toContain('42')
  await started.client.delete(`/api/v1/model-deployments/${body.id}`)
})
