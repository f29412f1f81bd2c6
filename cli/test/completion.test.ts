import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { registerClient } from '../../server/test/support/client.ts'
import { deploy } from '../../server/test/support/deployments.ts'
import { node, openShell, program } from './support/command.ts'
import type { Shell } from './support/command.ts'
import { startServerWithEngine } from './support/engine.ts'
import type { ServerWithEngine } from './support/engine.ts'

let served: ServerWithEngine
let shell: Shell

beforeAll(async () => {
  served = await startServerWithEngine()
  const client = await registerClient(served.server.url)
  shell = await openShell({ BERTH_URL: served.server.url }, client)
  const { id } = await deploy(client)
  await client.patch(`/api/v1/model-deployments/${id}`, { alias: 'assistant' })
  await deploy(client, 'berth-tiny-embedding')
})

afterAll(async () => {
  await shell.close()
  await served.close()
})

async function complete(...words: string[]): Promise<string[]> {
  const { stdout } = await shell.berth(['complete', '--', ...words])
  return stdout.split('\n').flatMap((line) => (/^:|^$/.test(line) ? [] : [line.split('\t')[0]!]))
}

test('completion prints a script, which asks for commands and options', async () => {
  for (const name of ['bash', 'zsh', 'fish']) {
    expect(await shell.berth(['completion', name])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('berth complete --'),
    })
  }
  expect(await complete('dep')).toEqual(['deploy'])
  expect(await complete('deploy', '--qua')).toEqual(['--quantization'])
  expect((await shell.berth(['help'])).stdout).toContain('completion <shell>')
  expect(await shell.berth(['completion', 'emacs'])).toMatchObject({ code: 2 })
})

test('it completes the names of deployments and of models', async () => {
  expect((await complete('show', '')).toSorted()).toEqual(['assistant', 'berth-tiny-embedding'])
  expect(await complete('rm', 'assistant', 'ber')).toEqual(['berth-tiny-embedding'])
  expect(await complete('deploy', 'berth-tiny')).toEqual(['berth-tiny', 'berth-tiny-embedding'])
  expect(await complete('chat', 'ass')).toEqual(['assistant'])
  expect(await complete('connect', '--model', 'ass')).toEqual(['assistant'])
  expect(await complete('launch', 'codex', '--model', 'qwen3.5')).toEqual(['qwen3.5'])
  expect(await complete('upload', 'ber')).toEqual([])
})

test('without a session or a server, Tab shows no names and no error', async () => {
  const visitor = await openShell({ BERTH_URL: 'http://127.0.0.1:9' })
  expect(await visitor.berth(['complete', '--', 'show', ''])).toMatchObject({ code: 0, stderr: '' })
  await visitor.close()
})

test('the script for bash works without the package bash-completion', async () => {
  const script = `
    berth() { "${node}" "${program}" "$@"; }
    source <(berth completion bash)
    COMP_WORDS=(berth show as) COMP_CWORD=2
    __berth_complete 2> >(grep -v compopt >&2)
    echo "\${COMPREPLY[@]}"`
  const result = await promisify(execFile)('bash', ['--norc', '-c', script], { env: shell.env })
  expect(result).toEqual({ stdout: 'assistant\n', stderr: '' })
})
