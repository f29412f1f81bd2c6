import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { waitForStatus } from '../support/deployments.ts'
import { startHubServer } from '../support/hub/hub-server.ts'
import type { HubServer } from '../support/hub/hub-server.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'
import { readRepository } from './vllm-files.ts'
import { describeModel, patience } from './vllm-server.ts'

const run = promisify(execFile)
const path = '/api/v1/model-deployments'
const admin = resolve(import.meta.dirname, '../../src/process/admin.ts')
const newest = process.env['TEST_VLLM_VERSION'] ?? ''
const older = process.env['TEST_VLLM_OLDER'] ?? ''
/** The DATA_DIR that the suite keeps, because an installation takes gigabytes */
const dataDirectory = dirname(dirname(process.env['TEST_VLLM_INSTALLATION'] ?? ''))

let folder: string
let hub: HubServer
let server: TestServer
let client: Client
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-vllm-'))
  writeFileSync(join(folder, 'models.yaml'), `models:${describeModel('tiny', '')}`)
  hub = await startHubServer({ 'berth/tiny': readRepository(process.env['TEST_VLLM_MODEL'] ?? '') })
  server = await startTestServer({
    settings: {
      CATALOG_FILE: join(folder, 'models.yaml'),
      HF_ENDPOINT: hub.origin,
      DATA_DIR: dataDirectory,
    },
  })
  client = await registerClient(server.url)
})
afterAll(async () => {
  await server?.close()
  await hub?.close()
  rmSync(folder, { recursive: true, force: true })
})

const read = async (id: string) => (await client.get(`${path}/${id}`)).body

async function waitForVersion(id: string, version: string): Promise<void> {
  const isSettled = async () => {
    const { status, status_message, waiting_for, engine } = await read(id)
    expect(status, status_message).not.toBe('failed')
    return status === 'running' && waiting_for === null && engine.version === version
  }
  await vi.waitUntil(isSettled, { timeout: patience, interval: 500 })
}

/** Chats one after the other until it is stopped. Resolves to the statuses of all answers. */
function chatOn(model: string): { stop(): Promise<number[]> } {
  const stopping = new AbortController()
  const messages = [{ role: 'user', content: 'What is 27 + 15?' }]
  const chatting = (async () => {
    const statuses: number[] = []
    while (!stopping.signal.aborted) {
      statuses.push((await client.post('/v1/chat/completions', { model, messages })).status)
    }
    return statuses
  })()
  return {
    stop() {
      stopping.abort()
      return chatting
    },
  }
}

/** The version that the engines of a deployment tell themselves */
async function askVersions(id: string): Promise<string[]> {
  const { instances } = await read(id)
  return Promise.all(
    instances.map(async (instance: { id: string }) => {
      const engine = await server.application.runtimes.all[0]!.observeEngine(instance.id)
      if (engine.phase !== 'ready') throw new Error(JSON.stringify(engine))
      return ((await (await fetch(`${engine.endpoint.baseUrl}/version`)).json()) as { version: string })
        .version
    }),
  )
}

test('a deployment moves to a version that was installed beside its own, and back, without a failed request', async () => {
  const created = await client.post(path, { model_name: 'tiny', engine_options: { 'enforce-eager': true } })
  expect(created.status, JSON.stringify(created.body)).toBe(201)
  const { id } = created.body
  await waitForVersion(id, newest)
  expect(await askVersions(id)).toEqual([expect.stringContaining(newest)])

  const chats = chatOn(id)
  await run(process.execPath, [admin, 'engines', 'install', `vllm==${older}`], {
    env: { ...process.env, DATA_DIR: dataDirectory, DATABASE_URL: server.databaseUrl },
    maxBuffer: 2 ** 26,
  })
  for (const version of [older, newest]) {
    const changed = await vi.waitUntil(
      async () => {
        const answer = await client.patch(`${path}/${id}`, { engine_version: version })
        return answer.status === 200 && answer
      },
      { timeout: 30_000, interval: 500 },
    )
    expect(changed.body).toMatchObject({ status: 'running' })
    await waitForVersion(id, version)
    expect(await askVersions(id)).toEqual([expect.stringContaining(version)])
  }
  const statuses = await chats.stop()
  expect(new Set(statuses)).toEqual(new Set([200]))
  console.log(`${statuses.length} chats during an installation and two moves`)
  await client.delete(`${path}/${id}`)
  await waitForStatus(client, id, 'terminated', 60_000)
}, 3_600_000)
