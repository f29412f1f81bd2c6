import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { registerClient } from '../../server/test/support/client.ts'
import { makeOffer } from '../../server/test/support/scripted-runtime.ts'
import { openShell } from './support/command.ts'
import type { Shell } from './support/command.ts'
import { startServerWithEngine } from './support/engine.ts'
import type { ServerWithEngine } from './support/engine.ts'

let served: ServerWithEngine
let folder: string
let shell: Shell

/**
 * Prints the arguments, the settings in files that they name, and what the environment says about the
 * connection.
 */
const double = `#!/bin/sh
echo "$@"
for argument; do case "$argument" in */berth-launch-*) cat "$argument"; echo;; esac; done
env | grep -E "BERTH_SESSION|BERTH_KEY|_BASE|CONTEXT_TOKENS"
exit 3
`

beforeAll(async () => {
  served = await startServerWithEngine()
  folder = await mkdtemp(join(tmpdir(), 'berth-programs-'))
  for (const name of ['aider', 'codex', 'claude', 'opencode'])
    await writeFile(join(folder, name), double, { mode: 0o755 })
  await writeFile(join(folder, 'cn'), '#!/bin/sh\ncat "$HOME/.continue/config.yaml"\n$DURING\n', {
    mode: 0o755,
  })
  shell = await openShell({ BERTH_URL: served.server.url }, await registerClient(served.server.url))
  shell.env['PATH'] = `${folder}:${shell.env['PATH']}`
})

afterAll(async () => {
  await shell.close()
  await served.close()
  await rm(folder, { recursive: true })
})

test('launch deploys a model, or wakes it, starts a program on it, and refuses one that agents cannot use', async () => {
  expect(await shell.berth(['launch', 'aider'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('berth deploy MODEL --wait'),
  })
  const started = await shell.berth(['launch', 'aider', '--model', 'berth-tiny', '--', '--yes'])
  expect(started, started.stderr).toMatchObject({ code: 3 })
  expect(started.stdout).toMatch(
    /^--model openai\/berth-tiny --model-metadata-file \S+ --yes\n\{"openai\/berth-tiny":\{"max_input_tokens":\d+,/,
  )
  expect(started.stdout).toMatch(/\nOPENAI_API_BASE=http:\/\/127\.0\.0\.1:\d+\/v1\n/)
  expect(started.stdout).not.toContain('BERTH_SESSION')
  expect((await shell.berth(['sleep', 'berth-tiny', '--wait'])).code).toBe(0)
  expect(await shell.berth(['launch', 'aider', '--model', 'berth-tiny'])).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('Waking deployment'),
  })
  expect(await shell.berth(['launch', 'codex'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('--force'),
  })
  expect(await shell.berth(['launch', 'emacs'])).toMatchObject({ code: 2 })
})

test('an agent gets a context of 65,536 tokens, or a refusal that says how to get it', async () => {
  served.runtime.answer({ listOffers: () => [makeOffer('large', { memoryBytes: 2 ** 40 })] })
  const claude = ['launch', 'claude', '--model', 'qwen3.5']
  expect((await shell.berth(['deploy', 'qwen3.5', '--wait'])).code).toBe(0)
  expect(await shell.berth(claude)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /serves 4096 tokens, and agents need 65536\. Deploy it again with --min-context 65536/,
    ),
  })
  expect((await shell.berth(['rm', 'qwen3.5'])).code).toBe(0)
  const started = await shell.berth(claude)
  expect(started, started.stderr).toMatchObject({ code: 3 })
  expect(started.stdout).toContain('CLAUDE_CODE_MAX_CONTEXT_TOKENS=65536\n')
  expect((await shell.berth(['rm', 'qwen3.5'])).code).toBe(0)
  served.runtime.reset()
})

test('a model that no option can help is refused before it is deployed', async () => {
  const refusals = {
    'berth-tiny': "berth-tiny serves 2048 tokens, and agents need 65536. It can't serve more here.",
    'berth-tiny-embedding':
      "berth-tiny-embedding is an embedding model and can't chat. Choose another model.",
    qwen3: 'Agents need a context of 65536 tokens.',
    'gemma-9': 'the catalog has no such model. `berth models` lists the models.',
  }
  for (const [model, stderr] of Object.entries(refusals)) {
    const refused = await shell.berth(['launch', 'codex', '--model', model])
    expect(refused, model).toMatchObject({ code: 1, stderr: expect.stringContaining(stderr) })
    expect(refused.stderr).not.toMatch(/with --min-context|(GET|POST) \//)
  }
  const deployed = (await shell.json(['ls', '--all'])).map(({ model_name: name }: any) => name)
  expect(deployed).not.toContain('berth-tiny-embedding')
  expect(deployed).not.toContain('qwen3')
})

test('a program that is not installed ends launch with 127, before a model is deployed', async () => {
  const path = shell.env['PATH']
  shell.env['PATH'] = folder
  const missing = await shell.berth(['launch', 'open-webui', '--model', 'berth-tiny-embedding'])
  shell.env['PATH'] = path!
  expect(missing).toMatchObject({
    code: 127,
    stderr:
      'open-webui is not installed, or its folder is not in PATH. Install it with `pipx install open-webui`.\n',
  })
})

test('agents get the connection and the length of the context, and keep no settings', async () => {
  const forced = await shell.berth(['launch', 'codex', '--force'])
  expect(forced).toMatchObject({ code: 3, stdout: expect.stringContaining('-c model_provider="berth"') })
  expect(forced.stdout).toMatch(/-c model_context_window=\d+ .*\nBERTH_KEY=sk-berth-/s)
  const claude = await shell.berth(['launch', 'claude', '--force'])
  expect(claude.stdout).toMatch(/ANTHROPIC_BASE_URL=http:\/\/127\.0\.0\.1:\d+\n/)
  expect(claude.stdout).toMatch(/CLAUDE_CODE_MAX_CONTEXT_TOKENS=\d+\n/)
  const [, file, settings] = /--settings (\S+)\n(.*)\n/.exec(claude.stdout)!
  expect(JSON.parse(settings!).env).toMatchObject({
    ANTHROPIC_BASE_URL: expect.stringContaining('127.0.0.1'),
  })
  await expect(readFile(file!)).rejects.toThrow('ENOENT')
})

test('a settings file is replaced while its program runs, and put back also after a kill', async () => {
  const place = join(shell.env['HOME']!, '.continue')
  const path = join(place, 'config.yaml')
  const written = expect.stringMatching(/^name: Berth\n[^]*apiBase: http:\/\/127\.0\.0\.1:\d+\/v1\n/)
  expect(await shell.berth(['launch', 'continue', '--force'])).toMatchObject({ code: 0, stdout: written })
  expect(await readdir(place), 'there was no file').toEqual([])

  await mkdir(place, { recursive: true })
  await writeFile(path, 'name: Mine\n')
  shell.env['DURING'] = 'sleep 5'
  const { child, output } = shell.start(['launch', 'continue', '--force'])
  await vi.waitFor(() => expect(output.stdout).toEqual(written), { timeout: 20_000 })
  child.kill('SIGKILL')
  // A launch after the kill keeps the first backup.
  shell.env['DURING'] = 'false'
  await vi.waitFor(async () => expect(await readFile(path, 'utf8')).toEqual(written), { timeout: 20_000 })
  expect(await shell.berth(['launch', 'continue', '--restore'])).toMatchObject({
    code: 0,
    stderr: `${path} is as it was before the launch.\n`,
  })
  expect(await readFile(path, 'utf8')).toBe('name: Mine\n')
  expect(await shell.berth(['launch', 'continue', '--force'])).toMatchObject({ code: 1, stdout: written })
  expect(await readdir(place)).toEqual(['config.yaml'])
  expect(await readFile(path, 'utf8')).toBe('name: Mine\n')
  expect((await shell.berth(['launch', 'continue', '--restore'])).stderr).toBe(`${path} was not changed.\n`)
  expect((await shell.berth(['launch', 'claude', '--restore'])).stderr).toContain('keeps its own settings')
})
