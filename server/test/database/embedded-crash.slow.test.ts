import { spawn } from 'node:child_process'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'
import { findFreePort } from '../../src/base/free-port.ts'
import { findBinaries } from '../../src/database/embedded/binaries.ts'
import { readPidFile, serverSettings } from '../../src/database/embedded/postmaster.ts'
import {
  createScratch,
  killHard,
  launch,
  patient,
  postmasterPid,
  query,
  serviceAccount,
  spawnLauncher,
  start,
} from './scratch.ts'

test('a server adopts the PostgreSQL process of a killed server, with its data', async () => {
  const dataDirectory = join(await createScratch(), 'data')
  const home = join(dataDirectory, 'postgres')
  const first = await launch(dataDirectory)
  await query(first.url, 'CREATE TABLE kept AS SELECT 42 AS answer')
  const pid = await postmasterPid(home)
  await killHard(first.process)

  const second = await start(dataDirectory)
  expect(second.adopted).toBe(true)
  expect(await postmasterPid(home)).toBe(pid)
  expect(await query(second.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }])
  await second.stop()
  expect(await postmasterPid(home)).toBeUndefined()
})

test(
  'no acknowledged insert is lost in ten kills of server and PostgreSQL',
  { timeout: 120_000 },
  async () => {
    const dataDirectory = join(await createScratch(), 'data')
    const home = join(dataDirectory, 'postgres')
    const acknowledged: number[] = []
    let next = 0
    for (let round = 0; round < 10; round++) {
      const server = await launch(dataDirectory, { settings: { fsync: 'on' } })
      expect(server.error).toBeUndefined()
      await query(server.url, 'CREATE TABLE IF NOT EXISTS ledger (id integer PRIMARY KEY)')
      const before = acknowledged.length
      const write = async () => {
        const client = new pg.Client({ connectionString: server.url })
        client.on('error', () => undefined)
        try {
          await client.connect()
          for (;;) {
            const id = next++
            await client.query('INSERT INTO ledger VALUES ($1)', [id])
            acknowledged.push(id)
          }
        } catch {
          await client.end().catch(() => undefined)
        }
      }
      const writers = [write(), write(), write()]
      await vi.waitUntil(() => acknowledged.length > before + 100, { timeout: 20_000, interval: 5 })
      const pid = await postmasterPid(home)
      process.kill(pid!, 'SIGKILL')
      await killHard(server.process)
      await Promise.all(writers)
    }
    const database = await start(dataDirectory, { settings: {} })
    const stored = await query<{ id: number }>(database.url, 'SELECT id FROM ledger')
    const present = new Set(stored.map(({ id }) => id))
    expect(acknowledged.length).toBeGreaterThan(1000)
    expect(acknowledged.filter((id) => !present.has(id))).toEqual([])
  },
)

test('a pid file left by a crash does not block a start, even if another process has the pid now', async () => {
  const dataDirectory = join(await createScratch(), 'data')
  const pidFile = join(dataDirectory, 'postgres', 'cluster', 'data', 'postmaster.pid')
  const stranger = spawn('sleep', ['600'], { ...serviceAccount, cwd: '/', stdio: 'ignore' })
  onTestFinished(() => void stranger.kill('SIGKILL'))
  for (const firstLine of [String(stranger.pid), String(process.pid), '1', '-7', 'nonsense', '']) {
    const database = await start(dataDirectory)
    process.kill((await postmasterPid(join(dataDirectory, 'postgres')))!, 'SIGKILL')
    await expect.poll(() => query(database.url, 'SELECT 1').catch(() => 'gone'), patient).toBe('gone')
    const lines = (await readFile(pidFile, 'utf8')).split('\n')
    await writeFile(pidFile, firstLine === '' ? '' : [firstLine, ...lines.slice(1)].join('\n'))
    const again = await start(dataDirectory)
    expect(again.adopted).toBe(false)
    await query(again.url, 'SELECT 1')
    await again.stop()
  }
  expect(stranger.exitCode ?? stranger.signalCode).toBeNull()
})

test('a zombie PostgreSQL process counts as exited', async () => {
  const dataDirectory = join(await createScratch(), 'data')
  const first = await launch(dataDirectory)
  // A stopped parent does not reap its child.
  first.process.kill('SIGSTOP')
  process.kill((await postmasterPid(join(dataDirectory, 'postgres')))!, 'SIGKILL')
  const second = await start(dataDirectory)
  expect(second.adopted).toBe(false)
  await query(second.url, 'SELECT 1')
})

test('a server killed while creating the cluster does not block the next start', async () => {
  const dataDirectory = join(await createScratch(), 'data')
  const home = join(dataDirectory, 'postgres')
  const names = () => readdir(home).catch((): string[] => [])
  const first = spawnLauncher(dataDirectory)
  await vi.waitUntil(async () => (await names()).some((name) => name.startsWith('initializing-')), {
    timeout: 20_000,
    interval: 2,
  })
  await killHard(first)
  expect(await names()).not.toContain('cluster')
  const database = await start(dataDirectory)
  await query(database.url, 'SELECT 1')
  expect((await names()).filter((name) => name.startsWith('initializing-'))).toEqual([])
})

test('onExit reports that PostgreSQL was killed', async () => {
  const dataDirectory = join(await createScratch(), 'data')
  const onExit = vi.fn<(error: Error) => void>()
  const database = await start(dataDirectory, { onExit })
  process.kill((await postmasterPid(join(dataDirectory, 'postgres')))!, 'SIGKILL')
  await vi.waitFor(() => expect(onExit).toHaveBeenCalledOnce(), patient)
  expect(onExit.mock.calls[0]?.[0].message).toContain('SIGKILL')
  await database.stop()
})

test('a start waits for a PostgreSQL that is shutting down, then starts a new one', async () => {
  const dataDirectory = join(await createScratch(), 'data')
  const first = await start(dataDirectory)
  // A smart shutdown lasts as long as this session.
  const session = new pg.Client({ connectionString: first.url })
  session.on('error', () => undefined)
  await session.connect()
  process.kill((await postmasterPid(join(dataDirectory, 'postgres')))!, 'SIGTERM')
  await expect.poll(() => query(first.url, 'SELECT 1').catch(String), patient).toContain('shutting down')
  const starting = start(dataDirectory)
  await session.end()
  const second = await starting
  expect(second.adopted).toBe(false)
  await query(second.url, 'SELECT 1')
})

test('a PostgreSQL started by hand is refused and keeps running', async () => {
  const dataDirectory = join(await createScratch(), 'data')
  const data = join(dataDirectory, 'postgres', 'cluster', 'data')
  await (await start(dataDirectory)).stop()
  const { directory } = await findBinaries()
  const settings = Object.entries(serverSettings(await findFreePort()))
  const options = settings.flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const byHand = spawn(join(directory, 'bin', 'postgres'), ['-D', data, ...options], {
    ...serviceAccount,
    cwd: '/',
    stdio: 'ignore',
  })
  onTestFinished(() => killHard(byHand))
  await expect.poll(async () => (await readPidFile(data))?.status, patient).toBe('ready')
  await expect(start(dataDirectory)).rejects.toThrow(`(process ${byHand.pid}). Stop it.`)
  expect((await readPidFile(data))?.pid).toBe(byHand.pid)
})

test('with onInterrupted, a killed PostgreSQL starts again on its port, whether started or adopted', async () => {
  const dataDirectory = join(await createScratch(), 'data')
  const home = join(dataDirectory, 'postgres')
  const first = await launch(dataDirectory)
  await query(first.url, 'CREATE TABLE kept AS SELECT 42 AS answer')
  await killHard(first.process)
  const onInterrupted = vi.fn<(error: Error) => void>()
  const onExit = vi.fn<() => void>()
  const database = await start(dataDirectory, { onInterrupted, onExit })
  expect(database.adopted).toBe(true)
  for (const _origin of ['adopted', 'started']) {
    const pid = await postmasterPid(home)
    process.kill(pid!, 'SIGKILL')
    // The restart may be quicker than the next look.
    await expect.poll(async () => [undefined, pid].includes(await postmasterPid(home)), patient).toBe(false)
    await expect
      .poll(() => query(database.url, 'SELECT answer FROM kept').catch(() => 'gone'), patient)
      .toEqual([{ answer: 42 }])
  }
  const [adopted, started] = onInterrupted.mock.calls.map(([{ message }]) => message)
  expect(adopted).toContain('exited unexpectedly')
  // PostgreSQL answers shortly before its start counts as over.
  expect(started).toMatch(
    /\(SIGKILL\)\. Its log .*postgresql\.log ends with|exited with SIGKILL while starting/,
  )
  await database.stop()
  expect(await postmasterPid(home)).toBeUndefined()
  expect(onExit).not.toHaveBeenCalled()
})

test('a stop during a restart leaves no PostgreSQL behind', async () => {
  const dataDirectory = join(await createScratch(), 'data')
  const home = join(dataDirectory, 'postgres')
  const interrupted = Promise.withResolvers<void>()
  const database = await start(dataDirectory, { onInterrupted: () => interrupted.resolve() })
  process.kill((await postmasterPid(home))!, 'SIGKILL')
  await interrupted.promise
  await database.stop()
  expect(await postmasterPid(home)).toBeUndefined()
})
