import { execFile } from 'node:child_process'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { Pool } from 'undici'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { deploy } from '../support/deployments.ts'
import {
  childEnvironment,
  createDataDirectory,
  findEngineProcesses,
  removeDataDirectory,
  spawnServer,
  waitUntil,
} from '../support/process.ts'
import type { ServerProcess } from '../support/process.ts'

const callers = 8

let dataDirectory: string
let server: ServerProcess
let pool: Pool
let client: Client
beforeAll(async () => {
  dataDirectory = await createDataDirectory()
  server = spawnServer({ DATA_DIR: dataDirectory })
  const url = await server.listening
  client = await registerClient(url)
  pool = new Pool(url, { connections: callers })
})
afterAll(async () => {
  await pool.destroy()
  server.child.kill('SIGKILL')
  await server.exited
  await removeDataDirectory(dataDirectory)
})

/** Sets how many files the server may open from now on. */
async function limitFiles(count: number): Promise<void> {
  await promisify(execFile)('prlimit', ['--pid', String(server.child.pid), `--nofile=${count}:`])
}

/** One request on each connection, at the same time */
async function askOnEach(method: 'GET' | 'POST', path: string, body?: unknown) {
  const headers = { cookie: client.cookie(), 'content-type': 'application/json' }
  const text = body === undefined ? null : JSON.stringify(body)
  return Promise.all(
    Array.from({ length: callers }, async () => {
      const response = await pool.request({ method, path, headers, body: text })
      return {
        status: response.statusCode,
        retryAfter: response.headers['retry-after'],
        body: (await response.body.json()) as { error?: { code: string } },
      }
    }),
  )
}

test('a start that may open too few files is refused, with the limit and the remedy', async () => {
  const program = resolve(import.meta.dirname, '../../bin/berth.mjs')
  const limited = ['-c', 'ulimit -n 256 && exec "$@"', 'sh', process.execPath, program]
  const env = { ...childEnvironment(), DATA_DIR: join(dataDirectory, 'refused'), PORT: '0' }
  await expect(promisify(execFile)('sh', limited, { env, timeout: 60_000 })).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/may only open 256 files here, and Berth needs 1024; raise the hard limit/),
  })
})

test('a server without file descriptors says so, and nothing is restarted for it', async () => {
  const { id } = await deploy(client)
  const engines = await findEngineProcesses(dataDirectory)
  const chat = { model: id, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 4 }
  const path = `/api/v1/model-deployments/${id}`
  const ask = () => askOnEach('POST', '/v1/chat/completions', chat)
  await askOnEach('GET', '/healthz')
  await limitFiles(10)
  const refused = (await ask()).filter(({ status }) => status !== 200)
  expect(refused.length).toBeGreaterThan(0)
  for (const { status, retryAfter, body } of refused) {
    expect([status, retryAfter, body.error?.code]).toEqual([503, '5', 'overloaded'])
  }
  await limitFiles(20_000)
  await waitUntil(async () => (await ask()).every(({ status }) => status === 200), 60_000, 'answers')
  await waitUntil(async () => (await client.get(path)).body.status_message === null, 60_000, 'a check')
  expect((await client.get(path)).body.status).toBe('running')
  expect(await findEngineProcesses(dataDirectory)).toEqual(engines)
  const { items } = (await client.get(`${path}/events`)).body
  const messages = items.map(({ message }: { message: string }) => message).join('\n')
  expect(messages).not.toMatch(/Restarting|disappeared|killed|exited/)
  expect(server.output()).not.toContain('the embedded PostgreSQL is interrupted')
})
