// Unmodified agents on the embedded engine: their requests and the engine's streams, whatever the small model
// says.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openShell } from '../../../cli/test/support/command.ts'
import type { Shell } from '../../../cli/test/support/command.ts'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'
import { deployForAgents, writeLongModel } from './support/long-model.ts'

let folder: string
let server: TestServer
let client: Client
let id: string
let shell: Shell
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-agents-'))
  server = await startTestServer({ settings: { CATALOG_FILE: await writeLongModel(folder) } })
  client = await registerClient(server.url)
  id = await deployForAgents(client, 'berth-tiny')
  shell = await openShell({ BERTH_URL: server.url }, client)
  shell.env['PATH'] = `${process.env['TEST_CLIENTS_AGENTS']}:${shell.env['PATH']}`
})
afterAll(async () => {
  await shell?.close()
  await server?.close()
  await rm(folder, { recursive: true, force: true })
})

test('Claude Code converses with the bundled model, which is metered', async () => {
  const ask = async (...args: string[]) => {
    const short = [
      '--tools',
      '',
      '--system-prompt',
      'You are a helpful assistant.',
      '--output-format',
      'json',
    ]
    const asked = ['launch', 'claude', '--model', 'berth-tiny', '--', '-p', ...args, ...short]
    const { code, stdout, stderr } = await shell.berth(asked, '')
    expect(code, stdout + stderr).toBe(0)
    return JSON.parse(stdout)
  }
  const first = await ask('What is 27 + 15?')
  const second = await ask('What is 2 + 3?', '--continue')
  expect(first).toMatchObject({ is_error: false, num_turns: 1, result: expect.stringMatching(/\w/) })
  expect(second).toMatchObject({ is_error: false, session_id: first.session_id })
  const [one, other] = [first.usage, second.usage]
  const read = (usage: typeof one) => usage.input_tokens + usage.cache_read_input_tokens
  await expect
    .poll(async () => (await client.get(`/api/v1/model-deployments/${id}/usage`)).body)
    .toMatchObject({
      requests: 2,
      input_tokens: read(one) + read(other),
      output_tokens: one.output_tokens + other.output_tokens,
    })
})
