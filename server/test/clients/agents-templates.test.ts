// Unmodified agents on the embedded engine with the chat templates of large models. The weights are scripted:
// they call the agent's shell until the prompt holds the tokens of a result.
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openShell } from '../../../cli/test/support/command.ts'
import type { Shell } from '../../../cli/test/support/command.ts'
import {
  cutIntoPieces,
  findControl,
  writeScriptedModel,
} from '../../../engine/test/support/scripted-model.ts'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'
import { deployForAgents, longContext, writeCatalog } from './support/long-model.ts'

const templates = process.env['TEST_TEMPLATES'] ?? ''
const reply = 'The harbor is open.'

interface Family {
  /** A file of the source package without its ending */
  template: string
  call: (tool: string, input: string) => string
  reply: string
  /** A token of control that prompts have only after a call */
  mark: string
}

const families: Readonly<Record<string, Family>> = {
  qwen3: {
    template: 'Qwen-Qwen3-0.6B',
    call: (tool, input) =>
      `<think>\nI need the shell.\n</think>\n\n<tool_call>\n{"name": "${tool}", "arguments": ${input}}\n</tool_call>`,
    reply,
    mark: '</tool_response>',
  },
  'gpt-oss': {
    template: 'openai-gpt-oss-120b',
    call: (tool, input) =>
      `<|channel|>analysis<|message|>I need the shell.<|end|><|start|>assistant<|channel|>commentary to=functions.${tool} <|constrain|>json<|message|>${input}<|call|>`,
    reply: `<|channel|>final<|message|>${reply}`,
    mark: '<|call|>',
  },
}

/** The tools with which agents run commands, and their arguments */
const shells = {
  claude: (command: string) => ({ tool: 'Bash', input: { command, description: 'Compute' } }),
  codex: (command: string) => ({ tool: 'exec_command', input: { cmd: command } }),
}
type Agent = keyof typeof shells
const agents = Object.keys(shells) as Agent[]

let folder: string
let server: TestServer
let client: Client
let shell: Shell
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-agents-'))
  const files: Record<string, string> = {}
  for (const family of Object.keys(families))
    for (const agent of agents) files[`${family}-${agent}`] = await writeFamily(family, agent)
  server = await startTestServer({ settings: { CATALOG_FILE: await writeCatalog(folder, files) } })
  client = await registerClient(server.url)
  shell = await openShell({ BERTH_URL: server.url }, client)
  shell.env['PATH'] = `${process.env['TEST_CLIENTS_AGENTS']}:${shell.env['PATH']}`
})
afterAll(async () => {
  await shell?.close()
  await server?.close()
  await rm(folder, { recursive: true, force: true })
})

/** The file to which the call of a model appends a line */
const noteOf = (family: string, agent: Agent) => join(folder, `${family}-${agent}.txt`)

async function writeFamily(name: string, agent: Agent): Promise<string> {
  const family = families[name]!
  const template = await readFile(join(templates, `${family.template}.jinja`), 'utf8')
  const control = findControl(template)
  const path = join(folder, `${name}-${agent}.gguf`)
  const { tool, input } = shells[agent](`echo $((6 * 7))-berths >> ${noteOf(name, agent)}`)
  await writeScriptedModel({
    path,
    template,
    answer: cutIntoPieces(family.call(tool, JSON.stringify(input)), control),
    reply: { after: family.mark, answer: cutIntoPieces(family.reply, control) },
    control,
    contextTokens: longContext,
  })
  return path
}

describe.each(Object.keys(families))('a model with the template of %s', (family) => {
  const deploy = (agent: Agent) => deployForAgents(client, `${family}-${agent}`)
  async function launch(agent: Agent, args: string[]): Promise<string> {
    const command = ['launch', agent, '--model', `${family}-${agent}`, '--', ...args]
    const { code, stdout, stderr } = await shell.berth(command, '')
    expect(code, stdout + stderr).toBe(0)
    return stdout
  }
  const readNote = (agent: Agent) => readFile(noteOf(family, agent), 'utf8')

  test('Claude Code calls its tool, gets an answer after the result, and goes on', async () => {
    await deploy('claude')
    // With all of its tools, Claude Code would shorten the conversation, and its calls would be lost.
    const short = ['--tools', 'Bash', '--system-prompt', 'You are a helpful assistant.', '--max-turns', '3']
    const ask = async (...args: string[]) =>
      JSON.parse(await launch('claude', ['-p', ...args, ...short, '--output-format', 'json']))
    const first = await ask('Run the command.', '--allowedTools', 'Bash')
    expect(first).toMatchObject({ is_error: false, num_turns: 2, result: reply })
    expect(await readNote('claude')).toBe('42-berths\n')
    const second = await ask('And now?', '--continue')
    expect(second).toMatchObject({ is_error: false, num_turns: 1, result: reply })
    expect(await readNote('claude')).toBe('42-berths\n')
  })

  test('Codex calls its tool, gets an answer after the result, and goes on', async () => {
    await deploy('codex')
    const codex = ['-c', 'features.plugins=false', 'exec']
    const sandbox = ['--skip-git-repo-check', '--sandbox', 'danger-full-access']
    expect(await launch('codex', [...codex, ...sandbox, 'Run the command.'])).toContain(reply)
    expect(await readNote('codex')).toBe('42-berths\n')
    const resume = ['resume', '--last', '--skip-git-repo-check', 'And now?']
    expect(await launch('codex', [...codex, ...resume])).toContain(reply)
    expect(await readNote('codex')).toBe('42-berths\n')
  })
})
