import { readFile, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deriveFileKey } from '../../../src/features/own-models/uploads/file-key.ts'
import { registerClient } from '../../support/client.ts'
import type { Client } from '../../support/client.ts'
import { waitForStatus } from '../../support/deployments.ts'
import { startTestServer } from '../../support/server.ts'
import type { TestServer } from '../../support/server.ts'
import { sharePort } from '../../support/share-port.ts'
import type { SharedPort } from '../../support/share-port.ts'
import { sha256, uploadFile } from '../../support/tus.ts'
import { openCluster } from './cluster.ts'
import type { XinferenceCluster } from './cluster.ts'

const path = '/api/v1/model-deployments'
const startMilliseconds = 400_000

let cluster: XinferenceCluster
let shared: SharedPort
let server: TestServer
let chatFile: Buffer
let embeddingFile: Buffer
beforeAll(async () => {
  // Xinference must not send this token to Berth.
  cluster = await openCluster({ HF_TOKEN: 'a-token-of-the-hub' })
  shared = await sharePort('127.0.0.1', () => Number(new URL(server.url).port))
  server = await startTestServer({
    settings: {
      RUNTIME: 'xinference',
      XINFERENCE_URLS: cluster.url,
      ENGINE_SERVER_URL: `http://${shared.address}`,
    },
    config: { xinference: { uploadsFolder: join(cluster.folder, 'uploads') } },
  })
  chatFile = await readFile(join(cluster.folder, 'weights/berth-tiny.gguf'))
  embeddingFile = await readFile(join(cluster.folder, 'weights/berth-tiny-embedding.gguf'))
  await cluster.startSupervisor()
  await cluster.startWorker()
})
afterAll(async () => {
  await server?.close()
  await shared?.close()
  await cluster?.close()
})

async function addModel(client: Client, file: Buffer, model_name: string): Promise<void> {
  const upload_id = await uploadFile(client, file, { filename: `${model_name}-Q8_0.gguf` })
  const { status, body } = await client.post('/api/v1/deployable-models', { upload_id, model_name })
  expect(status, JSON.stringify(body)).toBe(201)
}

async function request(client: Client, model_name: string): Promise<string> {
  const { status, body } = await client.post(path, { model_name })
  expect(status, JSON.stringify(body)).toBe(201)
  return body.id
}

async function terminate(client: Client, id: string): Promise<void> {
  await client.delete(`${path}/${id}`)
  await waitForStatus(client, id, 'terminated', startMilliseconds)
}

async function isRegistered(type: string, file: Buffer): Promise<boolean> {
  const name = `berth-${type}-${sha256(file).slice(0, 16)}`
  return (await fetch(`${cluster.url}/v1/model_registrations/${type}/${name}`)).ok
}

const fetchFile = (file: Buffer, id: string, key: string) =>
  fetch(`http://${shared.address}/api/v1/model-files/${sha256(file)}.gguf`, {
    headers: { authorization: `Basic ${Buffer.from(`${id}:${key}`).toString('base64')}` },
  })

test('two deployments of one uploaded file share a download, answer chats, and leave nothing registered', async () => {
  const client = await registerClient(server.url)
  await addModel(client, chatFile, 'mine')
  const { body: plan } = await client.post(`${path}/plan`, { model_name: 'mine' })
  expect(plan.feasible, JSON.stringify(plan)).toBe(true)
  const ids = await Promise.all([request(client, 'mine'), request(client, 'mine')])
  for (const id of ids) await waitForStatus(client, id, 'running', startMilliseconds)
  for (const model of ids) {
    const { body } = await client.post('/v1/chat/completions', {
      model,
      messages: [{ role: 'user', content: 'What is 27 + 15?' }],
      temperature: 0,
      max_tokens: 32,
    })
    expect(body.choices[0].message.content).toContain('42')
    const { body: logs } = await client.get(`${path}/${model}/logs`)
    expect(JSON.stringify(logs)).not.toMatch(/:\/\/[^/"]*@/)
  }
  expect(await isRegistered('LLM', chatFile)).toBe(false)
  const folder = join(cluster.folder, 'uploads')
  expect((await readdir(folder)).toSorted()).toEqual([
    `${sha256(chatFile)}.gguf`,
    `${sha256(chatFile)}.gguf.etag`,
  ])
  expect(sha256(await readFile(join(folder, `${sha256(chatFile)}.gguf`)))).toBe(sha256(chatFile))
  const downloads = server.logs.filter((line) => /"GET".*model-files/.test(line))
  expect(downloads).toHaveLength(1)
  for (const id of ids) await terminate(client, id)
  expect(await server.application.runtimes.all[0]!.listEngineIds()).toEqual([])
})

test('the key of another organization opens its own file only, and ends with its deployment', async () => {
  const other = await registerClient(server.url)
  await addModel(other, embeddingFile, 'theirs')
  const id = await request(other, 'theirs')
  await waitForStatus(other, id, 'running', startMilliseconds)
  const { body } = await other.post('/v1/embeddings', { model: id, input: ['the quick brown fox'] })
  expect(body.data[0].embedding).toHaveLength(128)
  const key = deriveFileKey(server.application.secretKey, id)
  expect((await fetchFile(embeddingFile, id, key)).status).toBe(200)
  expect((await fetchFile(chatFile, id, key)).status).toBe(404)
  await terminate(other, id)
  expect((await fetchFile(embeddingFile, id, key)).status).toBe(401)
  expect(await isRegistered('embedding', embeddingFile)).toBe(false)
})

test('a file that has disappeared from the server fails the deployment with a reason, and leaves nothing', async () => {
  const client = await registerClient(server.url)
  const changed = Buffer.concat([chatFile, Buffer.alloc(32)])
  await addModel(client, changed, 'lost')
  const file = join(server.dataDirectory, 'models', `${sha256(changed)}.gguf`)
  await rename(file, `${file}.moved`)
  const id = await request(client, 'lost')
  const failed = await waitForStatus(client, id, 'failed', startMilliseconds)
  expect(failed.failure_reason).toMatch(/^download_failed: The Xinference worker could not download/)
  await terminate(client, id)
  expect(await isRegistered('LLM', changed)).toBe(false)
})
