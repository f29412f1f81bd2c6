import { existsSync } from 'node:fs'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { EmbeddedDatabaseError } from '../../src/database/embedded.ts'
import { openLog, readLog, trimLog } from '../../src/database/embedded/postmaster.ts'
import {
  copyPackageWithoutLinks,
  createScratch,
  launch,
  patient,
  postmasterPid,
  query,
  start,
} from './scratch.ts'

test('the first start creates a PostgreSQL 18 with the expected settings', async () => {
  const dataDirectory = join(await createScratch(), 'data')
  const database = await start(dataDirectory)
  const [row] = await query<Record<string, string>>(
    database.url,
    `SELECT version(), current_user AS role, current_setting('data_checksums') AS checksums,
      current_setting('is_superuser') AS superuser, current_setting('fsync') AS fsync,
      current_setting('listen_addresses') AS addresses, current_setting('ssl') AS ssl,
      (SELECT datlocprovider::text || ' ' || datlocale FROM pg_database WHERE datname = current_database()) AS locale`,
  )
  expect(row?.version).toMatch(/^PostgreSQL 18\./)
  expect(row).toMatchObject({
    role: 'berth',
    superuser: 'off',
    checksums: 'on',
    fsync: 'off',
    addresses: '127.0.0.1',
    ssl: 'off',
    locale: 'b C.UTF-8',
  })
  expect((await stat(join(dataDirectory, 'postgres', 'cluster', 'credentials.json'))).mode & 0o777).toBe(
    0o600,
  )
  await expect(query(database.url.replace(/:[0-9a-f]{48}@/, ':wrong@'), 'SELECT 1')).rejects.toThrow(
    /password/,
  )
  await database.stop()
  await expect(query(database.url, 'SELECT 1')).rejects.toThrow(/ECONNREFUSED/)
  await database.stop()
})

test('the role may create schemas, trusted extensions and databases, but not change the server', async () => {
  const database = await start(join(await createScratch(), 'data'))
  await query(database.url, 'CREATE SCHEMA jobs')
  await query(database.url, 'CREATE EXTENSION pg_trgm')
  await query(database.url, 'CREATE DATABASE beside')
  await expect(query(database.url, 'ALTER SYSTEM SET fsync = off')).rejects.toThrow(/permission denied/)
})

test('a restart keeps the data', async () => {
  const dataDirectory = join(await createScratch(), 'data')
  const first = await start(dataDirectory)
  await query(first.url, 'CREATE TABLE kept AS SELECT 42 AS answer')
  await first.stop()
  const second = await start(dataDirectory)
  expect(second.adopted).toBe(false)
  expect(await query(second.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }])
})

test('a handle stops a server that another handle started', async () => {
  const dataDirectory = join(await createScratch(), 'data')
  const exits: string[] = []
  const first = await start(dataDirectory, { onExit: (error) => exits.push(error.message) })
  const second = await start(dataDirectory)
  expect([first.adopted, second.adopted]).toEqual([false, true])
  expect(second.url).toBe(first.url)
  await second.stop()
  await expect.poll(() => exits, patient).toEqual([expect.stringContaining('database system is shut down')])
  await first.stop()
})

test('concurrent launches on an empty directory create one cluster and share it', async () => {
  const dataDirectory = join(await createScratch(), 'data')
  const launches = await Promise.all([launch(dataDirectory), launch(dataDirectory), launch(dataDirectory)])
  expect(launches.map(({ error }) => error)).toEqual([undefined, undefined, undefined])
  expect(launches.filter(({ adopted }) => !adopted)).toHaveLength(1)
  expect(new Set(launches.map(({ url }) => url)).size).toBe(1)
  await query(launches[0].url, 'SELECT 1')
})

test('missing library links of the package are added', async () => {
  const scratch = await createScratch()
  const binariesDirectory = await copyPackageWithoutLinks(scratch)
  expect(existsSync(join(binariesDirectory, 'lib', 'libicui18n.so.60'))).toBe(false)
  const database = await start(join(scratch, 'data'), {
    binariesDirectory,
    stateDirectory: join(scratch, 'state'),
  })
  await query(database.url, 'SELECT 1')
  expect(existsSync(join(binariesDirectory, 'lib', 'libicui18n.so.60'))).toBe(true)
})

test('a cluster of another major version is refused and not changed', async () => {
  const dataDirectory = join(await createScratch(), 'data')
  await (await start(dataDirectory)).stop()
  const versionFile = join(dataDirectory, 'postgres', 'cluster', 'data', 'PG_VERSION')
  await writeFile(versionFile, '17\n')
  await expect(start(dataDirectory)).rejects.toThrow(
    /created by PostgreSQL 17.*includes PostgreSQL 18.*DATABASE_URL/,
  )
  expect(await readFile(versionFile, 'utf8')).toBe('17\n')
})

test('a setting that PostgreSQL rejects fails with PostgreSQL’s message', async () => {
  const dataDirectory = join(await createScratch(), 'data')
  await expect(start(dataDirectory, { settings: { wal_level: 'everything' } })).rejects.toThrow(
    /invalid value for parameter "wal_level"/,
  )
  await query((await start(dataDirectory)).url, 'SELECT 1')
})

test('a port in use fails with an error that says so', async () => {
  const scratch = await createScratch()
  const other = await start(join(scratch, 'other'))
  const { port } = new URL(other.url)
  await expect(start(join(scratch, 'data'), { settings: { port } })).rejects.toThrow(/Address already in use/)
  expect(await postmasterPid(join(scratch, 'data', 'postgres'))).toBeUndefined()
})

test('an impossible DATA_DIR fails with an error that names it', async () => {
  const scratch = await createScratch()
  await writeFile(join(scratch, 'file'), '')
  await expect(start(join(scratch, 'file', 'data'))).rejects.toThrow(
    /DATA_DIR .*file\/data could not be created/,
  )
  await expect(start('data')).rejects.toThrow(EmbeddedDatabaseError)
})

test('the log is rotated while the server keeps writing to the same file', async () => {
  const path = join(await createScratch(), 'postgresql.log')
  const server = await openLog(path)
  try {
    await server.write('a'.repeat(2000))
    await trimLog(path, 1000)
    await server.write('after\n')
    expect(await readLog(path, 0)).toBe('after\n')
    expect((await stat(`${path}.1`)).size).toBe(2000)
  } finally {
    await server.close()
  }
})
