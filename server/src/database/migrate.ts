import { readFile, readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { sql } from 'kysely'
import { Migrator } from 'kysely/migration'
import type { Migration } from 'kysely/migration'
import type { Database } from './tables.ts'

const migrationsFolder = resolve(import.meta.dirname, '../../migrations')

/**
 * Brings the database to the newest schema, one process at a time, and returns the names of the migrations that it ran. Throws
 * where a newer version has been here, whose schema this one does not know.
 */
export async function migrateDatabase(db: Database): Promise<string[]> {
  const migrations = await readMigrations()
  const { error, results } = await db.connection().execute(async (session) => {
    // An index may take longer to build than a query may, and so may waiting for the process that builds it.
    await sql`SET statement_timeout = 0`.execute(session)
    const provider = { getMigrations: async () => migrations }
    const outcome = await new Migrator({ db: session, provider }).migrateToLatest()
    // Where the connection is lost, that is what `outcome` says.
    await sql`RESET statement_timeout`.execute(session).catch(() => undefined)
    return outcome
  })
  if (error !== undefined) {
    const failed = results?.find((result) => result.status === 'Error')?.migrationName
    const newer = await listNewer(db, Object.keys(migrations)).catch(() => [])
    if (newer.length > 0) {
      throw new Error(
        `The database was brought up to date by a newer version of Berth (${newer.join(', ')}): start that version, or restore the backup that was made before the upgrade`,
      )
    }
    throw new Error(`The database can't be brought up to date${failed ? ` (migration ${failed})` : ''}`, {
      cause: error,
    })
  }
  return (results ?? []).map((result) => result.migrationName)
}

/** The migrations that ran and that this version does not have. */
async function listNewer(db: Database, known: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    SELECT name FROM kysely_migration WHERE name <> ALL (${known}) ORDER BY name`.execute(db)
  return rows.map((row) => row.name)
}

async function readMigrations(): Promise<Record<string, Migration>> {
  const files = (await readdir(migrationsFolder)).filter((file) => file.endsWith('.sql')).toSorted()
  const migrations = files.map(async (file): Promise<[string, Migration]> => {
    const text = await readFile(join(migrationsFolder, file), 'utf8')
    return [file.replace(/\.sql$/, ''), { up: async (db) => void (await sql.raw(text).execute(db)) }]
  })
  return Object.fromEntries(await Promise.all(migrations))
}
