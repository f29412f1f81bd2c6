import { execFile } from 'node:child_process'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { createClient, registerClient } from '../support/client.ts'
import { createTestDatabase } from '../support/database.ts'
import { deploy } from '../support/deployments.ts'
import { findPostgresPrograms } from '../support/own-postgres.ts'
import {
  childEnvironment,
  createDataDirectory,
  removeDataDirectory,
  spawnServer,
} from '../support/process.ts'
import { query } from './scratch.ts'

const run = promisify(execFile)
const programs = await findPostgresPrograms()
const admin = join(import.meta.dirname, '../../src/process/admin.ts')

async function createFolder(): Promise<string> {
  const folder = await createDataDirectory()
  onTestFinished(() => removeDataDirectory(folder))
  return folder
}

async function createEmptyDatabase(): Promise<string> {
  const database = await createTestDatabase()
  onTestFinished(() => database.drop())
  return database.url
}

/** Starts a server that is killed at the end of the test. */
function start(settings: Record<string, string>) {
  const server = spawnServer(settings)
  onTestFinished(async () => {
    server.child.kill('SIGKILL')
    await server.exited
  })
  return server
}

const rules = `
  SELECT conrelid::regclass::text AS name, conname::text AS rule, condeferrable::text AS state FROM pg_constraint WHERE contype = 'f'
  UNION ALL SELECT tgrelid::regclass::text, tgname::text, tgenabled::text FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1, 2`

test.skipIf(programs === null)(
  'database export: psql imports it into an own PostgreSQL, and the server goes on there (skipped without psql)',
  async () => {
    const DATA_DIR = await createFolder()
    const embedded = start({ DATA_DIR, MAIL_FROM: 'berth@example.com' })
    const owner = await registerClient(await embedded.listening)
    await owner.patch('/v1/organization', { description: 'tab\t, newline\n, backslash \\N and é' })
    const { id: model } = await deploy(owner)
    const ask = { model, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 4 }
    expect((await owner.post('/v1/chat/completions', ask)).status).toBe(200)

    const file = join(DATA_DIR, 'berth.sql')
    const exportTo = () =>
      run(process.execPath, [admin, 'database', 'export', file], { env: { ...childEnvironment(), DATA_DIR } })
    // While the server runs, and once more when it is stopped
    await exportTo()
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    await expect(exportTo()).rejects.toThrow(/exists/)
    const own = await createEmptyDatabase()
    const psql = () => run(join(programs!, 'psql'), ['--quiet', '--file', file, own])
    await expect(psql()).rejects.toThrow(/kysely_migration/)
    const SECRET_KEY = (await readFile(join(DATA_DIR, 'secret-key'), 'utf8')).trim()
    const migrated = start({ ROLE: 'migrate', DATABASE_URL: own, DATA_DIR, SECRET_KEY })
    expect(await migrated.exited, migrated.output()).toBe(0)
    const before = await query(own, rules)
    await psql()
    expect(await query(own, rules)).toEqual(before)
    await expect(psql()).rejects.toThrow(/in use/)

    embedded.child.kill('SIGTERM')
    expect(await embedded.exited).toBe(0)
    const takeOver = run(process.execPath, [admin, 'installation', 'take-over'], {
      env: { ...childEnvironment(), DATA_DIR, DATABASE_URL: own, SECRET_KEY },
    })
    expect((await takeOver).stdout).toContain('Taken over')
    const moved = start({ DATA_DIR, DATABASE_URL: own, SECRET_KEY })
    const member = createClient(await moved.listening)
    member.setCookie(owner.cookie())
    expect((await member.get('/v1/organization')).body.description).toBe(
      'tab\t, newline\n, backslash \\N and é',
    )
    expect((await member.post('/v1/chat/completions', ask)).status).toBe(200)
    expect((await registerClient(await moved.listening)).email).not.toBe(owner.email)
    await member.delete(`/api/v1/model-deployments/${model}`)
    const status = async () => (await member.get(`/api/v1/model-deployments/${model}`)).body.status
    await expect.poll(status).toBe('terminated')
  },
)
