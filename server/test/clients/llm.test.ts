import { execFile } from 'node:child_process'
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
  const model = (id: string, name: string) =>
    `- model_id: ${id}\n  model_name: ${name}\n  api_base: ${connection.url}\n  api_key_name: openai\n  supports_tools: true\n  supports_schema: true\n`
  await writeFile(
    join(folder, 'extra-openai-models.yaml'),
    model('tiny', 'berth-tiny') + model('none', 'none'),
  )
})
afterAll(async () => {
  await connection?.close()
  await started?.close()
  await rm(folder, { recursive: true, force: true })
})

async function llm(...args: string[]): Promise<string> {
  const env = { PATH: process.env['PATH'], HOME: folder, LLM_USER_PATH: folder }
  const given = ['prompt', '--key', connection.key, '-o', 'temperature', '0', ...args]
  const running = run(program, given, { env })
  // It adds what is piped in to the prompt.
  running.child.stdin?.end()
  return (await running).stdout
}

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
