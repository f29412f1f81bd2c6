// Unmodified agents, started by `berth launch`. Their prompts and tools go through Berth to an engine double
// that calls tools as a large model would, because the bundled model can't follow prompts of 10,000 tokens.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openShell } from '../../../cli/test/support/command.ts'
import type { Shell } from '../../../cli/test/support/command.ts'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { deploy } from '../support/deployments.ts'
import type { RecordingEngine } from '../support/recording-engine.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'
import { longContext, writeLongModel } from './support/long-model.ts'
import { watchOutside } from './support/outside.ts'
import type { Outside } from './support/outside.ts'
import { startScriptedModel, textOf } from './support/scripted-model.ts'
import type { Answer, ChatRequest } from './support/scripted-model.ts'

/** opencode installs the package for its plugins. */
const registry = 'registry.npmjs.org:443'
/** Codex reads the plugins of its vendor on GitHub. */
const codex = ['-c', 'features.plugins=false', 'exec']

/**
 * Calls the agent's shell when it is told to, reports the result, and otherwise says how often it was asked.
 */
function decide({ messages, tools = [] }: ChatRequest): Answer {
  const last = messages.at(-1)!
  if (last.role === 'tool') return { text: `The harbor says: ${textOf(last)}` }
  const questions = messages.filter((message) => /Question \d/.test(textOf(message)))
  const shell = tools.find(({ function: { name } }) => /^(bash|exec_command)$/i.test(name))?.function
  if (shell === undefined || !textOf(questions.at(-1) ?? last).includes('Run')) {
    return { text: `This is answer ${questions.length}.` }
  }
  const { properties } = shell.parameters as { properties: Record<string, object> }
  const command = 'cmd' in properties ? 'cmd' : 'command'
  const described = 'description' in properties ? { description: 'Compute' } : {}
  return { call: shell.name, arguments: { [command]: 'echo $((6 * 7))-berths', ...described } }
}

let folder: string
let engine: RecordingEngine
let server: TestServer
let client: Client
let id: string
let outside: Outside
let shell: Shell
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-agents-'))
  engine = await startScriptedModel(decide)
  const sharedCapacity = { contextTokens: longContext, parallelSequences: 4 }
  server = await startTestServer({
    runtime: { ...createScriptedRuntime(engine.url), sharedCapacity },
    settings: { CATALOG_FILE: await writeLongModel(folder) },
  })
  client = await registerClient(server.url)
  id = (await deploy(client)).id
  outside = await watchOutside()
})
beforeEach(async () => {
  shell = await openShell({ BERTH_URL: server.url, ...outside.env }, client)
  shell.env['PATH'] = `${process.env['TEST_CLIENTS_AGENTS']}:${shell.env['PATH']}`
  outside.asked.length = 0
  return () => shell.close()
})
afterAll(async () => {
  outside.close()
  await server.close()
  await engine.close()
  await rm(folder, { recursive: true, force: true })
})

describe.each([
  [
    'Claude Code',
    'claude',
    (question: string) => ['-p', question, '--allowedTools', 'Bash'],
    (question: string) => ['-p', question, '--continue'],
  ],
  [
    'Codex',
    'codex',
    (question: string) => [...codex, '--skip-git-repo-check', '--sandbox', 'danger-full-access', question],
    (question: string) => [...codex, 'resume', '--last', '--skip-git-repo-check', question],
  ],
  [
    'opencode',
    'opencode',
    (question: string) => ['run', question],
    (question: string) => ['run', '--continue', question],
  ],
  [
    'Continue',
    'continue',
    (question: string) => ['--auto', '-p', question],
    (question: string) => ['--auto', '-p', '--resume', question],
  ],
])('%s', (_, name, first, next) => {
  async function launch(args: string[]): Promise<string> {
    const { code, stdout, stderr } = await shell.berth(['launch', name, '--', ...args], '')
    expect(code, stdout + stderr).toBe(0)
    return stdout
  }

  test('a conversation of two turns, metered', async () => {
    const usage = async () => (await client.get(`/api/v1/model-deployments/${id}/usage`)).body
    const before = await usage()
    expect(await launch(first('Question 1: how are you?'))).toContain('This is answer 1.')
    expect(await launch(next('Question 2: and now?'))).toContain('This is answer 2.')
    await expect.poll(async () => (await usage()).requests).toBeGreaterThanOrEqual(before.requests + 2)
    expect((await usage()).input_tokens).toBeGreaterThan(before.input_tokens + 2_000)
    expect(outside.asked.filter((host) => host !== registry)).toEqual([])
  })

  test('a tool is called, and its result reaches the model', async () => {
    expect(await launch(first('Question 1: Run the command.'))).toMatch(/The harbor says: [^]*42-berths/)
  })
})
