import { mkdir, mkdtemp, readFile, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { pino } from 'pino'
import type { Price } from '../../src/base/price.ts'
import type { Database } from '../../src/database/tables.ts'
import { readJournalFile } from '../../src/features/metering/journal-file.ts'
import { toRow } from '../../src/features/metering/request-log.ts'
import type { LoggedRequest } from '../../src/features/metering/request-log.ts'
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

function open(db = server.application.db, prices = server.application.prices): Promise<TokenJournal> {
  return TokenJournal.open({ db, clock: () => now, log: pino({ level: 'silent' }), prices }, directory)
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

/** Writes a journal file as left by a process that crashed. */
async function writeAbandoned(id: string, text: string): Promise<void> {
  const path = join(folder, randomUUID())
  await mkdir(path, { recursive: true })
  await writeFile(join(path, `${id}.jsonl`), text)
}

/** The journal files of all processes */
async function listFiles(): Promise<string[]> {
  const files = await readdir(folder, { recursive: true })
  return files.filter((file) => file.endsWith('.jsonl'))
}

function line(hour: number, input: unknown = 3): string {
  const { deploymentId, organizationId, modelName } = serving
  return `${JSON.stringify([deploymentId, organizationId, caller.userId, modelName, hour, input, 4, 0, 5])}\n`
}

test('requests are summed by hour; the file is deleted once they are in the database', async () => {
  journal = await open()
  journal.record(serving, usage, caller)
  journal.record(serving, usage, caller)
  now = new Date(now.getTime() + 3_600_000)
  journal.record(serving, usage, caller)
  await journal.flush()
  expect(await sum()).toEqual([
    [2, 6, 8],
    [1, 3, 4],
  ])
  expect(await listFiles()).toEqual([])
})

test('a batch id is deleted with its file; a late reader records nothing', async () => {
  journal = await open()
  journal.record(serving, usage, caller)
  const [file] = await listFiles()
  const [owner, id] = [join(folder, dirname(file!)), basename(file!, '.jsonl')]
  await journal.flush()
  const { db } = server.application
  expect(await listBatches()).toEqual([])
  await expect(recordTokenBatch(db, id, () => readJournalFile(owner, id))).rejects.toThrow('ENOENT')
  expect(await listBatches()).toEqual([])
  expect(await sum()).toEqual([[1, 3, 4]])
})

test('the files of a process that lives are its own, whatever the clock of the file system is', async () => {
  let broken = true
  journal = await open(createFlakyDatabase(() => broken))
  journal.record(serving, usage, caller)
  await journal.flush()
  const [file] = await listFiles()
  for (const hours of [-1, 1]) {
    const at = Date.now() / 1000 + hours * 3600
    await utimes(join(folder, file!), at, at)
    // The close of the other process waits until it has looked at all folders.
    await writeAbandoned(randomUUID(), '')
    // Both look every ten seconds. At the same moments, the first one would hold the lock of the folder.
    await delay(500)
    const other = await open()
    await expect.poll(listFiles).toEqual([file])
    await other.close()
    expect(await listFiles()).toEqual([file])
  }
  journal.record(serving, usage, caller)
  broken = false
  await journal.flush()
  expect(await sum()).toEqual([[2, 6, 8]])
  expect(await listBatches()).toEqual([])
})

test('a process that ends without the database leaves its files to the next', async () => {
  const stopped = await open(createFlakyDatabase(() => true))
  stopped.record(serving, usage, caller)
  await stopped.close()
  expect(await listFiles()).toHaveLength(1)
  journal = await open()
  await expect.poll(sum).toEqual([[1, 3, 4]])
  await journal.close()
  journal = null
  expect(await readdir(folder)).toEqual([])
})

test('a batch that is recorded several times at once is counted once', async () => {
  const { db } = server.application
  const id = randomUUID()
  const total = { ...serving, ...usage, ...caller, at: now, requests: 1 }
  await Promise.all([
    recordTokenBatch(db, id, () => ({ totals: [total], rows: [] })),
    recordTokenBatch(db, id, () => ({ totals: [total], rows: [] })),
    recordTokenBatch(db, id, async () => ({ totals: [total], rows: [] })),
  ])
  expect(await sum()).toEqual([[1, 3, 4]])
  expect(await listBatches()).toEqual([id])
})

test('a request is in a file before `record` returns', async () => {
  journal = await open()
  journal.record(serving, usage, caller)
  const [file] = await listFiles()
  expect(basename(file!)).toMatch(/^[0-9a-f-]{36}\.jsonl$/)
  expect((await stat(join(folder, file!))).size).toBe(
    line(now.getTime() - (now.getTime() % 3_600_000)).length,
  )
})

test('the file of a crashed process is recorded exactly once; truncated and malformed lines are skipped', async () => {
  const hour = now.getTime() - (now.getTime() % 3_600_000)
  journal = await open()
  await journal.close()
  const [recorded, torn] = [randomUUID(), randomUUID()]
  const total = { ...serving, ...usage, ...caller, at: new Date(hour), requests: 1 }
  await recordTokenBatch(server.application.db, recorded, () => ({ totals: [total], rows: [] }))
  await writeAbandoned(recorded, line(hour))
  const foreign = line(hour).replace(serving.deploymentId, randomUUID())
  const odd = `${line(hour, -0.5)}${line(hour, 'x')}null\n{}\n`
  await writeAbandoned(torn, `${line(hour)}${odd}${foreign}${line(hour)}${line(hour).slice(0, -9)}`)
  await writeFile(join(folder, 'README'), 'not ours')
  journal = await open()
  await expect.poll(listFiles).toEqual([])
  expect(await readdir(folder)).toContain('README')
  expect(await sum()).toEqual([[3, 9, 12]])
})

test('whom a program named from outside survives a crash, beside its own requests', async () => {
  const hour = Math.floor(now.getTime() / 3_600_000) * 3_600_000
  const outside = line(hour).replace(/\]\n$/, ',null,"kai@example.org"]\n')
  await writeAbandoned(randomUUID(), `${outside}${line(hour)}${outside}`)
  journal = await open()
  await expect.poll(listFiles).toEqual([])
  journal.record(serving, usage, { ...caller, outsideName: 'kai@example.org' })
  journal.record(serving, usage, caller)
  await journal.flush()
  const rows = await server.application.db
    .selectFrom('token_usage')
    .select(['outside_name', 'requests'])
    .orderBy('requests')
    .execute()
  expect(rows).toEqual([
    { outside_name: null, requests: 2 },
    { outside_name: 'kai@example.org', requests: 3 },
  ])
})

test('while the database is down tokens are kept, and recorded once it is back', async () => {
  let broken = true
  journal = await open(createFlakyDatabase(() => broken))
  journal.record(serving, usage, caller)
  await journal.flush()
  journal.record(serving, usage, caller)
  await journal.flush()
  expect(await sum()).toEqual([])
  expect(await listFiles()).toHaveLength(2)
  broken = false
  await expect.poll(sum).toEqual([[2, 6, 8]])
  await expect.poll(listFiles).toEqual([])
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
  journal = await open(server.application.db, [cached])
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

const logged = {
  id: '0d5c9f5e-0d7c-4f5b-8a3e-0b8f1f6f3f52',
  ageMilliseconds: 100,
  model: 'a "quoted"\nname\0\ud800',
  route: '/v1/chat/completions',
  status: 200,
  firstTokenMilliseconds: 20.4,
  durationMilliseconds: 99.6,
  client: 'OpenAI/Python 2.1\tß',
  retry: 1,
  callerLeft: false,
  hidesCache: false,
}

function toLogged(changes: Partial<LoggedRequest> = {}): LoggedRequest {
  return { ...logged, ...serving, userId: caller.userId, id: randomUUID(), ...changes }
}

async function listLog() {
  const rows = await server.application.db.selectFrom('request_log').selectAll().orderBy('id').execute()
  await server.application.db.deleteFrom('request_log').execute()
  return rows
}

test('a request is logged with its tokens, in the same line of the file', async () => {
  journal = await open()
  const request = toLogged()
  journal.record(serving, { ...usage, cachedTokens: 2 }, caller, request)
  const [file] = await listFiles()
  const lines = (await readFile(join(folder, file!), 'utf8')).split('\n')
  expect(lines).toHaveLength(2)
  await journal.flush()
  const { organizationId, deploymentId } = serving
  expect(await listLog()).toEqual([
    {
      id: request.id,
      at: new Date(now.getTime() - 100),
      organization_id: organizationId,
      user_id: caller.userId,
      deployment_id: deploymentId,
      model: 'a "quoted"?name?\ufffd',
      route: '/v1/chat/completions',
      status: 200,
      input_tokens: 3,
      cached_tokens: 2,
      output_tokens: 4,
      first_token_ms: 20,
      duration_ms: 100,
      client: 'OpenAI/Python 2.1?ß',
      retry: 1,
      caller_left: false,
    },
  ])
  expect(await sum()).toEqual([[1, 3, 4]])
})

test('rows of the log are recorded exactly once, whichever line a process dies at', async () => {
  const requests = Array.from({ length: 4 }, (_, index) => toLogged({ retry: index }))
  for (let lines = 0; lines <= requests.length; lines += 1) {
    const dying = await open(createFlakyDatabase(() => true))
    for (const [index, request] of requests.slice(0, lines).entries()) {
      if (index % 2 === 0) dying.record(serving, usage, caller, request)
      else dying.log(request)
      dying.write()
    }
    await dying.close()
    journal = await open()
    await expect.poll(listFiles).toEqual([])
    await journal.close()
    journal = null
    const ids = requests.slice(0, lines).map(({ id }) => id)
    expect((await listLog()).map(({ id }) => id)).toEqual(ids.toSorted())
    const counted = Math.ceil(lines / 2)
    expect(await sum()).toEqual(counted === 0 ? [] : [[counted, 3 * counted, 4 * counted]])
    await server.application.db.deleteFrom('token_usage').execute()
  }
})

test('of many requests in a second, each is counted, and half of 1,000 rows are left to those that failed', async () => {
  journal = await open()
  for (let index = 0; index < 700; index += 1)
    journal.record(serving, usage, caller, toLogged({ status: 200, retry: 0 }))
  for (let index = 0; index < 600; index += 1) journal.log(toLogged({ status: 429, retry: 0 }))
  await journal.flush()
  const statuses = (await listLog()).map(({ status }) => status)
  expect(statuses.filter((status) => status === 200)).toHaveLength(500)
  expect(statuses.filter((status) => status === 429)).toHaveLength(500)
  expect(await sum()).toEqual([[700, 2100, 2800]])
  journal.record(serving, usage, caller, toLogged({ status: 200, retry: 0 }))
  await journal.flush()
  expect(await listLog()).toHaveLength(1)
})

test('rows that wait long for the database are read from their files again', async () => {
  let isDown = true
  journal = await open(createFlakyDatabase(() => isDown))
  const requests = Array.from({ length: 50 }, () => toLogged())
  for (const request of requests) {
    journal.log(request)
    await journal.flush()
  }
  isDown = false
  await journal.flush()
  expect((await listLog()).map(({ id }) => id)).toEqual(requests.map(({ id }) => id).toSorted())
})

test('malformed rows, and rows of unknown deployments and users, are skipped', async () => {
  journal = await open()
  await journal.close()
  const row = JSON.parse(toRow(toLogged(), null, now.getTime())) as unknown[]
  const bad = [[], row.slice(1), ['x', ...row.slice(1)], row.with(7, 1e9), row.with(7, 'x'), row.with(15, 1)]
  const foreign = [row.with(4, randomUUID()), row.with(3, 1e9), row.with(2, 1e9)]
  const text = [...bad, ...foreign, row].map((each) => `${JSON.stringify([each])}\n`).join('')
  await writeAbandoned(randomUUID(), text)
  journal = await open()
  await expect.poll(listFiles).toEqual([])
  expect((await listLog()).map(({ id }) => id)).toEqual([row[0]])
})
