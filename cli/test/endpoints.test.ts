import { createServer } from 'node:http'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { registerClient } from '../../server/test/support/client.ts'
import { listen } from '../../server/test/support/listen.ts'
import { startTestServer } from '../../server/test/support/server.ts'
import type { TestServer } from '../../server/test/support/server.ts'
import { openShell } from './support/command.ts'
import type { Shell } from './support/command.ts'

const outside = createServer((request, response) => {
  const isKnown = request.headers.authorization === 'Bearer sk-right'
  const body = request.url === '/v1/models' ? { data: [{ id: 'llama' }] } : { choices: [{}] }
  response.writeHead(isKnown ? 200 : 401, { 'content-type': 'application/json' }).end(JSON.stringify(body))
})

let server: TestServer
let shell: Shell
let url: string
beforeAll(async () => {
  url = `http://127.0.0.1:${await listen(outside)}/v1`
  server = await startTestServer({ settings: { RUNTIME: 'endpoints', ENDPOINT_NETWORKS: '127.0.0.0/8' } })
  const client = await registerClient(server.url)
  shell = await openShell({ BERTH_URL: server.url }, client)
})
afterAll(async () => {
  await shell.close()
  await server.close()
  outside.close().closeAllConnections()
})

test('endpoints are added with a key from stdin, listed, checked and deleted', async () => {
  expect((await shell.berth(['endpoints'])).stderr).toContain('No endpoints.')
  const prices = ['--input-price', '1', '--output-price', '2']
  const added = await shell.berth(['endpoints', 'add', 'Lab', url, '--key-stdin', ...prices], 'sk-right\n')
  expect(added, added.stderr).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('Added Lab. It answers, and has 1 model.'),
  })
  expect((await shell.berth(['endpoints', 'ls'])).stdout).toMatch(/^NAME +STATUS[^]+\nLab +ready +1 +http/)
  expect(await shell.json(['endpoints', 'check', 'lab'])).toMatchObject({
    endpoint: { status: 'ready', prices: { input: '1', output: '2' } },
    answer: { asked: 'llama' },
  })
  expect((await shell.berth(['endpoints', 'check', 'Lab'])).stderr).toMatch(/llama took \d+ ms for one token/)
  expect(await shell.berth(['endpoints', 'add', 'Other', url, '--input-price', '1'])).toMatchObject({
    code: 1,
  })
  expect((await shell.berth(['endpoints', 'rm', 'LAB'])).stderr).toContain('Deleted Lab.')
  expect(await shell.json(['endpoints', 'ls'])).toEqual([])
  expect(await shell.berth(['endpoints', 'check', 'Lab'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('no endpoint called Lab'),
  })
})

test('deploy and apply deploy the model of an endpoint', async () => {
  await shell.berth(['endpoints', 'add', 'Lab', url, '--key-stdin'], 'sk-right\n')
  const deployed = await shell.berth(['deploy', 'llama', '--wait'])
  expect(deployed, deployed.stderr).toMatchObject({ code: 0 })
  const running = { model_name: 'llama', status: 'running', selected_instance_type: 'endpoint' }
  expect(await shell.json(['show', deployed.stdout.trim()])).toMatchObject(running)
  const file = join(shell.configDirectory, 'berth.yaml')
  await writeFile(file, 'name: team\ndeployments:\n  assistant:\n    model: llama\n')
  const applied = await shell.berth(['apply', '-f', file, '--wait'])
  expect(applied, applied.stderr).toMatchObject({ code: 0 })
  expect(await shell.json(['show', 'assistant'])).toMatchObject({ ...running, managed_by: 'team' })
  expect(await shell.berth(['diff', '-f', file])).toMatchObject({ code: 0, stdout: '' })
})
