import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { query } from '../database/scratch.ts'
import { registerClient } from '../support/client.ts'
import { createTestDatabase } from '../support/database.ts'
import { deployBundled } from '../support/deployments.ts'
import {
  createDataDirectory,
  findEngineProcesses,
  removeDataDirectory,
  spawnServer,
} from '../support/process.ts'
import type { ServerProcess } from '../support/process.ts'

const patient = { timeout: 30_000, interval: 50 }
const root = resolve(import.meta.dirname, '../../..')
const secretKey = randomBytes(32).toString('hex')

/** A server that is killed at the test's end, when it still runs. */
function start(settings: Record<string, string>, node?: string, args?: string[]): ServerProcess {
  const server = spawnServer(settings, node, args)
  onTestFinished(async () => {
    server.child.kill('SIGKILL')
    await server.exited
  })
  return server
}

async function createPlace() {
  const database = await createTestDatabase()
  onTestFinished(() => database.drop())
  const dataDirectory = await createDataDirectory()
  onTestFinished(() => removeDataDirectory(dataDirectory))
  return { DATA_DIR: dataDirectory, DATABASE_URL: database.url, DRAIN_DELAY: '0' }
}

test('settings that are wrong: exit code 1, every mistake named, no secret repeated', async () => {
  const server = start({
    PORT: 'eighty',
    LOG_LEVEL: 'loud',
    SECRET_KEY: 'much-too-short',
    DATABASE_URL: 'mysql://root:hunter22@db/berth',
    PUBLIC_URL: 'berth.example.com',
  })
  expect(await server.exited).toBe(1)
  for (const name of ['PORT', 'LOG_LEVEL', 'SECRET_KEY', 'DATABASE_URL', 'PUBLIC_URL']) {
    expect(server.output()).toContain(`- ${name}: `)
  }
  expect(server.output()).not.toMatch(/much-too-short|hunter22/)
})

test('settings of a file: they count where the environment has none, and a file that is not there is none', async () => {
  const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  expect(scripts.start).toBe('node server/bin/berth.mjs .env')
  const folder = await createDataDirectory()
  onTestFinished(() => removeDataDirectory(folder))
  const file = join(folder, '.env')
  await writeFile(file, 'ROLE=api\nMAIL_FROM=Berth <berth@example.com>\nPORT=eighty\n')
  const server = start({}, undefined, [file])
  expect(await server.exited).toBe(1)
  const named = [...server.output().matchAll(/^ *- (\w+): /gm)].map(([, name]) => name)
  expect(new Set(named)).toEqual(new Set(['DATABASE_URL', 'SECRET_KEY']))
  const without = start({ LOG_LEVEL: 'quiet' }, undefined, [`${file}.old`])
  expect(await without.exited).toBe(1)
  expect(without.output()).toMatch(/- LOG_LEVEL: .*quiet/)
  const unreadable = start({}, undefined, [folder])
  expect(await unreadable.exited).toBe(1)
  expect(unreadable.output()).toContain(`Berth can't run: settings can't be read of ${folder}: `)
})

test('ROLE=api without a database and a key to share is refused with both named', async () => {
  const server = start({ ROLE: 'api' })
  expect(await server.exited).toBe(1)
  expect(server.output()).toMatch(/- DATABASE_URL: .*ROLE=api/)
  expect(server.output()).toMatch(/- SECRET_KEY: .*ROLE=api/)
})

test('a database that is not there: exit code 1 and a sentence that says so without its password', async () => {
  const { DATA_DIR } = await createPlace()
  const server = start({ DATA_DIR, DATABASE_URL: 'postgres://berth:hunter22@127.0.0.1:1/berth' })
  expect(await server.exited).toBe(1)
  expect(server.output()).toMatch(/Berth can't run: .*ECONNREFUSED 127\.0\.0\.1:1/)
  expect(server.output()).not.toContain('hunter22')
})

test('ROLE=migrate brings the database up to date and exits 0, twice', async () => {
  const place = await createPlace()
  for (const _ of [1, 2]) {
    const server = start({ ...place, ROLE: 'migrate' })
    expect(await server.exited, server.output()).toBe(0)
    expect(server.output()).not.toContain('listening')
  }
  const models = await query(place.DATABASE_URL, 'SELECT FROM deployable_models')
  expect(models.length).toBeGreaterThan(0)
})

test('ROLE=api and ROLE=worker: what the one is asked for the other brings up, and the one serves it', async () => {
  const place = { ...(await createPlace()), SECRET_KEY: secretKey }
  const api = start({ ...place, ROLE: 'api' })
  const client = await registerClient(await api.listening)
  const requested = await client.post('/api/v1/model-deployments', { model_name: 'berth-tiny-embedding' })
  expect(requested.body).toMatchObject({ status: 'requested' })
  expect(await findEngineProcesses(place.DATA_DIR)).toEqual([])

  const worker = start({ ...place, ROLE: 'worker' })
  const { id } = await deployBundled(client)
  const answer = await client.post('/v1/chat/completions', {
    model: id,
    messages: [{ role: 'user', content: 'Hello' }],
    max_tokens: 4,
  })
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  // What was asked for before there was a worker is brought up as well.
  const readFirst = async () =>
    (await client.get(`/api/v1/model-deployments/${requested.body.id}`)).body.status
  await expect.poll(readFirst, patient).toBe('running')
  expect(worker.output()).not.toContain('listening')

  for (const each of [id, requested.body.id]) await client.delete(`/api/v1/model-deployments/${each}`)
  await expect.poll(() => findEngineProcesses(place.DATA_DIR), patient).toEqual([])
  for (const server of [api, worker]) {
    server.child.kill('SIGTERM')
    expect(await server.exited).toBe(0)
    expect(server.output()).not.toContain(secretKey)
  }
})

const oldNode = findOldNode()

test.skipIf(oldNode === null)(
  'Node below 24 (skipped where none is installed): a sentence says what to do',
  async () => {
    const server = start({}, oldNode!)
    expect(await server.exited).toBe(1)
    expect(server.output()).toMatch(/^Berth needs Node 24 or newer and this is \d+\.\d+\.\d+\. .*npm ci/)
  },
)

/** The machine's own Node, past the one that npm installed; null when that is new enough or absent. */
function findOldNode(): string | null {
  const directories = (process.env['PATH'] ?? '').split(':').filter((part) => !part.includes('node_modules'))
  for (const directory of directories) {
    try {
      const version = execFileSync(`${directory}/node`, ['--version'], { encoding: 'utf8' })
      return Number(/^v(\d+)/.exec(version)?.[1]) < 24 ? `${directory}/node` : null
    } catch {
      continue
    }
  }
  return null
}
