import { mkdtemp, readFile, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { pino } from 'pino'
import type { Price } from '../../src/base/price.ts'
import type { Database } from '../../src/database/tables.ts'
import { readJournalFile } from '../../src/features/metering/journal-file.ts'
import { TokenJournal } from '../../src/features/metering/token-journal.ts'
import { recordTokenBatch } from '../../src/features/metering/record-tokens.ts'
import { registerClient } from '../support/client.ts'
import { deploy } from '../support/deployments.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const usage = { inputTokens: 3, outputTokens: 4 }

let server: TestServer
let serving: { deploymentId: string; organizationId: number; modelName: string }
let caller: { userId: number; processingMilliseconds: number }
let directory: string
let folder: string
let journal: TokenJournal | null = null
let now = new Date()
beforeAll(async () => {
  server = await startTestServer({ runtime: createScriptedRuntime() })
  const client = await registerClient(server.url)
  const { id } = await deploy(client)
  const row = await server.application.db.selectFrom('deployments').selectAll().executeTakeFirstOrThrow()
  serving = { deploymentId: id, organizationId: row.organization_id, modelName: 'berth-tiny' }
  caller = { userId: row.user_id, processingMilliseconds: 5 }
})
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'berth-journal-'))
  folder = join(directory, 'token-journal')
  now = new Date()
  await server.application.db.deleteFrom('token_usage').execute()
  await server.application.db.deleteFrom('token_batches').execute()
})
afterEach(async () => {
  await journal?.close()
  journal = null
  await rm(directory, { recursive: true, force: true })
})
afterAll(() => server.close())

function open(db = server.application.db, prices = server.application.prices): TokenJournal {
  return new TokenJournal({ db, clock: () => now, log: pino({ level: 'silent' }), prices }, directory)
}

async function sum() {
  const rows = await server.application.db.selectFrom('token_usage').selectAll().orderBy('hour').execute()
  return rows.map((row) => [row.requests, row.input_tokens, row.output_tokens])
}

async function listBatches(): Promise<string[]> {
  const rows = await server.application.db.selectFrom('token_batches').select('id').execute()
  return rows.map(({ id }) => id)
}

/** The database; statements throw while `isDown` returns true. */
function createFlakyDatabase(isDown: () => boolean): Database {
  return new Proxy(server.application.db, {
    get(target, name, receiver) {
      if (isDown() && (name === 'transaction' || name === 'getExecutor'))
        throw new Error('the database is down')
      const value: unknown = Reflect.get(target, name, receiver)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

/** Writes a journal file as left by a process that crashed a minute ago. */
async function writeAbandoned(id: string, text: string): Promise<void> {
  const path = join(folder, `${id}.jsonl`)
  await writeFile(path, text)
  const old = (await stat(path)).mtimeMs / 1000 - 60
  await utimes(path, old, old)
}

function line(hour: number, input: unknown = 3): string {
  const { deploymentId, organizationId, modelName } = serving
  return `${JSON.stringify([deploymentId, organizationId, caller.userId, modelName, hour, input, 4, 0, 5])}\n`
}

test('requests are summed by hour; the file is deleted once they are in the database', async () => {
  journal = open()
  journal.record(serving, usage, caller)
  journal.record(serving, usage, caller)
  now = new Date(now.getTime() + 3_600_000)
  journal.record(serving, usage, caller)
  await journal.flush()
  expect(await sum()).toEqual([
    [2, 6, 8],
    [1, 3, 4],
  ])
  expect(await readdir(folder)).toEqual([])
})

test('a batch id is deleted with its file; a late reader records nothing', async () => {
  journal = open()
  journal.record(serving, usage, caller)
  const [file] = await readdir(folder)
  const id = file!.replace('.jsonl', '')
  await journal.flush()
  const { db } = server.application
  expect(await listBatches()).toEqual([])
  await expect(recordTokenBatch(db, id, () => readJournalFile(folder, id))).rejects.toThrow('ENOENT')
  expect(await listBatches()).toEqual([])
  expect(await sum()).toEqual([[1, 3, 4]])
})

test('a batch adopted by another process is not counted again by its owner', async () => {
  let broken = true
  journal = open(createFlakyDatabase(() => broken))
  journal.record(serving, usage, caller)
  await journal.flush()
  const [file] = await readdir(folder)
  const id = file!.replace('.jsonl', '')
  await writeAbandoned(id, await readFile(join(folder, file!), 'utf8'))
  const other = open()
  await expect.poll(() => readdir(folder)).toEqual([])
  await other.close()
  broken = false
  await journal.flush()
  expect(await sum()).toEqual([[1, 3, 4]])
  expect(await listBatches()).toEqual([id])
})

test('a batch that is recorded several times at once is counted once', async () => {
  const { db } = server.application
  const id = randomUUID()
  const total = { ...serving, ...usage, ...caller, at: now, requests: 1 }
  await Promise.all([
    recordTokenBatch(db, id, () => [total]),
    recordTokenBatch(db, id, () => [total]),
    recordTokenBatch(db, id, async () => [total]),
  ])
  expect(await sum()).toEqual([[1, 3, 4]])
  expect(await listBatches()).toEqual([id])
})

test('a request is in a file before `record` returns', async () => {
  journal = open()
  journal.record(serving, usage, caller)
  const [file] = await readdir(folder)
  expect(file).toMatch(/^[0-9a-f-]{36}\.jsonl$/)
  expect((await stat(join(folder, file!))).size).toBe(
    line(now.getTime() - (now.getTime() % 3_600_000)).length,
  )
})

test('the file of a crashed process is recorded exactly once; truncated and malformed lines are skipped', async () => {
  const hour = now.getTime() - (now.getTime() % 3_600_000)
  journal = open()
  await journal.close()
  const [recorded, torn] = [randomUUID(), randomUUID()]
  const total = { ...serving, ...usage, ...caller, at: new Date(hour), requests: 1 }
  await recordTokenBatch(server.application.db, recorded, () => [total])
  await writeAbandoned(recorded, line(hour))
  const foreign = line(hour).replace(serving.deploymentId, randomUUID())
  const odd = `${line(hour, -0.5)}${line(hour, 'x')}null\n{}\n`
  await writeAbandoned(torn, `${line(hour)}${odd}${foreign}${line(hour)}${line(hour).slice(0, -9)}`)
  await writeFile(join(folder, 'README'), 'not ours')
  journal = open()
  await expect.poll(() => readdir(folder)).toEqual(['README'])
  expect(await sum()).toEqual([[3, 9, 12]])
})

test('a file with a recent write is left to its owner', async () => {
  journal = open()
  await journal.close()
  const id = randomUUID()
  await writeFile(join(folder, `${id}.jsonl`), line(0))
  journal = open()
  await writeAbandoned(randomUUID(), '')
  await expect.poll(async () => (await readdir(folder)).length).toBe(1)
  expect(await readdir(folder)).toEqual([`${id}.jsonl`])
})

test('while the database is down tokens are kept, and recorded once it is back', async () => {
  let broken = true
  journal = open(createFlakyDatabase(() => broken))
  journal.record(serving, usage, caller)
  await journal.flush()
  journal.record(serving, usage, caller)
  await journal.flush()
  expect(await sum()).toEqual([])
  expect(await readdir(folder)).toHaveLength(2)
  broken = false
  await expect.poll(sum).toEqual([[2, 6, 8]])
  await expect.poll(() => readdir(folder)).toEqual([])
})

test('cached tokens are kept apart only in hours with a price for them', async () => {
  const begin = new Date(Math.floor(now.getTime() / 3_600_000) * 3_600_000)
  const cached: Price = {
    meter: 'inference_cached_tokens',
    dimensions: { model_name: 'berth-tiny' },
    displayName: 'Cached',
    unitAmount: '0.001',
    currency: 'usd',
    validFrom: begin,
    validUntil: null,
  }
  const row = { ...serving, ...usage, cachedTokens: 2, ...caller }
  journal = open(server.application.db, [cached])
  journal.record(row, row, caller)
  journal.record(row, row, caller)
  now = new Date(begin.getTime() - 1)
  journal.record(row, row, caller)
  await journal.flush()
  const rows = await server.application.db
    .selectFrom('token_usage')
    .select(['hour', 'input_tokens', 'cached_tokens'])
    .orderBy('hour')
    .execute()
  expect(rows.map(({ input_tokens, cached_tokens }) => [input_tokens, cached_tokens])).toEqual([
    [3, 0],
    [6, 4],
  ])
})
