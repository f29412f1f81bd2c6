import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { spawnAdmin } from '../support/admin.ts'
import { createClient, registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { deploy } from '../support/deployments.ts'
import { findPostgresPrograms, startOwnPostgres } from '../support/own-postgres.ts'
import {
  createDataDirectory,
  findEngineProcesses,
  findPostmaster,
  removeDataDirectory,
  spawnServer,
} from '../support/process.ts'

const page = await readFile(resolve(import.meta.dirname, '../../../docs/operations.md'), 'utf8')
const programs = await findPostgresPrograms()
const testOptions = { timeout: 120_000 }
const allUsage = '/v1/billing/usage-summary?from=2000-01-01T00:00:00Z&to=2100-01-01T00:00:00Z'

/** The shell commands of a subsection, in the page's order. */
function readCommands(section: string, subsection: string): string[] {
  const [, sectionText = ''] = page.split(`\n## ${section}\n`)
  const [, text = ''] = sectionText.split('\n## ', 1)[0]!.split(`\n### ${subsection}\n`)
  const blocks = text.split('\n### ', 1)[0]!.matchAll(/^ *```sh\n([^]*?)^ *```$/gm)
  const commands = [...blocks].map(([, command = '']) => command)
  if (commands.length === 0) throw new Error(`${section}, ${subsection} has no commands`)
  return commands
}

/**
 * Runs the page's commands. The steps for a database outside DATA_DIR run only when there is one, as the page
 * says.
 */
async function follow(commands: string[], cwd: string, env: Record<string, string>): Promise<void> {
  for (const command of commands) {
    const isConditional = command.includes('postgres-location')
    if (isConditional && !existsSync(join(env['DATA_DIR'] ?? '', 'postgres-location'))) continue
    const path = [...(programs === null ? [] : [programs]), process.env['PATH']].join(delimiter)
    await promisify(execFile)('sh', ['-euc', command], { cwd, env: { ...env, PATH: path } })
  }
}

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'berth-backup-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Starts a server, which is stopped after the test with its engines and its database. */
function start(settings: Record<string, string> & { DATA_DIR: string }) {
  const server = spawnServer(settings)
  const stop = async () => {
    server.child.kill('SIGTERM')
    await server.exited
  }
  onTestFinished(async () => {
    await stop()
    await removeDataDirectory(settings.DATA_DIR)
  })
  return { ...server, stop }
}

/** Registers an account with two running deployments, and uses each of them once. */
async function createWorkload(url: string) {
  const client = await registerClient(url)
  const chat = await deploy(client)
  const embedding = await deploy(client, 'berth-tiny-embedding')
  const ids = [chat.id, embedding.id]
  await expectAnswers(client, ids)
  await expect.poll(async () => (await readUsage(client)).tokens.length).toBeGreaterThan(2)
  return { client, ids }
}

async function expectAnswers(client: Client, [chat, embedding]: string[]): Promise<void> {
  const messages = [{ role: 'user', content: 'hello' }]
  for (const [path, body] of [
    ['/v1/chat/completions', { model: chat, messages, max_tokens: 4 }],
    ['/v1/embeddings', { model: embedding, input: 'hello' }],
  ] as const) {
    await expect.poll(async () => (await client.post(path, body)).status).toBe(200)
  }
}

/** Reads the usage, with the interval in milliseconds in which the server read its clock. */
async function readUsage(client: Client) {
  const earliest = Date.now()
  const { status, body } = await client.get(allUsage)
  expect(status).toBe(200)
  const totals: { meter: string; total_quantity: string; dimensions: unknown }[] = body.usage_totals
  const seconds = totals.find(({ meter }) => meter === 'gpu_instance_seconds')
  const tokens = totals.filter((total) => total !== seconds)
  return { earliest, latest: Date.now(), seconds: Number(seconds?.total_quantity), tokens, body }
}

/** Expects that the restored deployments run again, and that their usage continues where the backup ends. */
async function expectRestored(
  url: string,
  cookie: string,
  ids: string[],
  before: Awaited<ReturnType<typeof readUsage>>,
): Promise<void> {
  const client = createClient(url)
  client.setCookie(cookie)
  const after = await readUsage(client)
  expect(after.tokens).toEqual(before.tokens)
  expect(after.body.open_anomalies).toBe(0)
  const grown = after.seconds - before.seconds
  expect(grown).toBeGreaterThanOrEqual((ids.length * (after.earliest - before.latest)) / 1000)
  expect(grown).toBeLessThanOrEqual((ids.length * (after.latest - before.earliest)) / 1000)
  await expectAnswers(client, ids)
  for (const id of ids) {
    const path = `/api/v1/model-deployments/${id}`
    expect((await client.get(path)).body).toMatchObject({ status: 'running', failure_reason: null })
    const { items } = (await client.get(`${path}/events`)).body
    expect(items.map(({ status }: { status: string }) => status)).not.toContain('failed')
  }
}

test(
  'operations.md, the embedded PostgreSQL: a restored DATA_DIR runs its deployments and keeps the usage',
  testOptions,
  async () => {
    const folder = await makeFolder()
    const dataDirectory = await createDataDirectory()
    const settings = { DATA_DIR: dataDirectory }
    const first = start(settings)
    const { client, ids } = await createWorkload(await first.listening)
    const before = await readUsage(client)
    await first.stop()
    expect(await findPostmaster(dataDirectory)).toBeNull()
    await follow(readCommands('Back up', 'The embedded PostgreSQL'), folder, settings)

    await rename(dataDirectory, join(folder, 'old'))
    await follow(readCommands('Restore', 'The embedded PostgreSQL'), folder, settings)
    expect(existsSync(join(dataDirectory, 'engines'))).toBe(false)
    await expectRestored(await start(settings).listening, client.cookie(), ids, before)
    expect(await findEngineProcesses(dataDirectory)).toHaveLength(ids.length)
  },
)

test.skipIf(programs === null)(
  'operations.md, your own PostgreSQL: a restored database runs its deployments on a new machine and keeps the usage',
  testOptions,
  async () => {
    const folder = await makeFolder()
    const postgres = await startOwnPostgres(programs!)
    onTestFinished(() => postgres.stop())
    const [original, restored] = [await createDataDirectory(), await createDataDirectory()]
    const settings = { DATA_DIR: original, SECRET_KEY: 'a secret key of at least thirty-two characters' }
    const database = { DATABASE_URL: await postgres.createDatabase('berth') }
    const first = start({ ...settings, ...database })
    const { client, ids } = await createWorkload(await first.listening)
    const before = await readUsage(client)
    await follow(readCommands('Back up', 'Your own PostgreSQL'), folder, database)

    await first.stop()
    await removeDataDirectory(original)
    await mkdir(original)
    const copy = { DATABASE_URL: await postgres.createDatabase('restored') }
    await follow(readCommands('Restore', 'Your own PostgreSQL'), folder, copy)
    const restoredSettings = { ...settings, ...copy, DATA_DIR: restored }
    expect(await spawnAdmin(restoredSettings, ['installation', 'take-over'])).toMatchObject({ code: 0 })
    const second = start(restoredSettings)
    await expectRestored(await second.listening, client.cookie(), ids, before)
  },
)
