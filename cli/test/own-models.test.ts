// A person's own model: from a repository of the Hub, and from a file that a person uploads.
import { appendFile, copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { registerClient } from '../../server/test/support/client.ts'
import type { Client } from '../../server/test/support/client.ts'
import { startHubServer } from '../../server/test/support/hub/hub-server.ts'
import type { HubServer } from '../../server/test/support/hub/hub-server.ts'
import { makeRepositories } from '../../server/test/support/hub/test-repositories.ts'
import { joinClient } from '../../server/test/support/organizations.ts'
import { startTestServer } from '../../server/test/support/server.ts'
import type { TestServer } from '../../server/test/support/server.ts'
import { openShell } from './support/command.ts'
import type { Shell } from './support/command.ts'
import { startRelay } from './support/relay.ts'
import type { Relay } from './support/relay.ts'
import { openTerminal } from './support/terminal.ts'

const weights = join(import.meta.dirname, '../../catalog/weights/berth-tiny.gguf')
const uploads = '/api/v1/model-uploads'
const token = 'hf_of_acme'

let folder: string
let hub: HubServer
let server: TestServer
let relay: Relay
let client: Client
let shell: Shell
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-own-models-'))
  hub = await startHubServer(makeRepositories(), { tokens: [token] })
  server = await startTestServer({ settings: { HF_ENDPOINT: hub.origin } })
  relay = await startRelay(server.url)
  client = await registerClient(server.url)
  shell = await openShell({ BERTH_URL: relay.url }, client)
})
afterAll(async () => {
  await shell.close()
  await relay.stop()
  await server.close()
  await hub.close()
  await rm(folder, { recursive: true, force: true })
})

test('an uploaded file becomes a model that answers', async () => {
  const path = join(folder, 'Harbor-Q8_0.gguf')
  await copyFile(weights, path)
  const { code, stdout, stderr } = await shell.berth(['upload', path])
  expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'harbor-q8_0\n' })
  expect((await shell.berth(['deploy', 'harbor-q8_0', '--wait'])).code).toBe(0)
  expect((await shell.berth(['chat', 'harbor-q8_0', 'What is 27 + 15?'])).stdout).toMatch(/\w/)
  await shell.berth(['rm', 'harbor-q8_0'])

  // The name is taken; the file need not be sent again.
  const taken = await shell.berth(['upload', path])
  expect(taken.code).toBe(1)
  const [, id = ''] = /`berth import (\S+) --name NAME`/.exec(taken.stderr) ?? []
  expect(await shell.json(['import', id, '--name', 'second'])).toMatchObject({ model_name: 'second' })
})

/** A file that takes long enough to break off. Engines ignore what follows the tensors. */
async function makeLongFile(name: string): Promise<string> {
  const path = join(folder, name)
  await copyFile(weights, path)
  await appendFile(path, Buffer.alloc(96 * 2 ** 20))
  return path
}

/** Cuts the network, and expects that one upload has broken off. */
async function breakOff(path: string): Promise<void> {
  await relay.stop()
  const { body } = await client.get(uploads)
  expect(body).toMatchObject([{ file_name: basename(path), status: 'receiving' }])
}

test('an upload waits for a server that restarts', async () => {
  const path = await makeLongFile('long.gguf')
  const { output, result } = shell.start(['upload', path])
  await vi.waitFor(() => expect(output.stderr).toContain('Uploading'), { timeout: 60_000, interval: 5 })
  await breakOff(path)
  await relay.start()
  const { code, stdout, stderr } = await result
  expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'long\n' })
  expect((await client.get(uploads)).body).toEqual([])
})

test('after Ctrl-C, the same command resumes an upload', async () => {
  const path = await makeLongFile('longer.gguf')
  const terminal = openTerminal(shell, ['upload', path])
  await terminal.see('Uploading')
  await breakOff(path)
  terminal.type('\u0003')
  expect(await terminal.exited).toBe(130)
  await relay.start()
  const { code, stdout, stderr } = await shell.berth(['upload', path])
  expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'longer\n' })
  // A second upload would have left the first.
  expect((await client.get(uploads)).body).toEqual([])
})

test('import reads a repository, also a gated one with a token', async () => {
  const imported = await shell.json(['import', 'acme/Small-GGUF', '--name', 'small'])
  expect(imported).toMatchObject({ model_name: 'small' })
  expect((await shell.berth(['models', 'small'])).stdout).toContain('small')
  expect((await shell.berth(['import', 'acme/Private'])).code).toBe(1)
  const gated = await shell.berth(
    ['import', 'acme/Private', '--name', 'secret', '--token-stdin'],
    `${token}\n`,
  )
  expect(gated).toMatchObject({ code: 0, stdout: 'secret\n' })
  expect(await shell.berth(['import', 'acme/Nothing'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('acme/Nothing'),
  })
})

test('what is no model, and a person who may not add one, are refused', async () => {
  const path = join(folder, 'notes.gguf')
  await writeFile(path, 'Not weights. '.repeat(1000))
  expect(await shell.berth(['upload', path])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/GGUF/),
  })
  const missing = join(folder, 'missing.gguf')
  expect(await shell.berth(['upload', missing])).toMatchObject({
    code: 2,
    stderr: `${missing} can't be read: no such file or directory.\n`,
  })
  expect(await shell.berth(['upload', folder])).toMatchObject({ code: 2 })
  const member = await openShell({ BERTH_URL: relay.url }, await joinClient(server, client, 'member'))
  expect(await member.berth(['upload', weights])).toMatchObject({ code: 1 })
  await member.close()
})
