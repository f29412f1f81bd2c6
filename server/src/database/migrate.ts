import { readFile, readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { sql } from 'kysely'
import { Migrator } from 'kysely/migration'
import type { Migration } from 'kysely/migration'
import type { Database } from './tables.ts'

const migrationsFolder = resolve(import.meta.dirname, '../../migrations')

/**
 * Migrates the database, one process at a time, and returns the migrations that ran. Throws for a database of
 * a newer version, or of a development version from before the first release.
 */
export async function migrateDatabase(db: Database): Promise<string[]> {
  const migrations = await readMigrations()
  const { error, results } = await db.connection().execute(async (session) => {
    // Building an index, or waiting for the process that builds it, may exceed the statement timeout.
    await sql`SET statement_timeout = 0`.execute(session)
    const provider = { getMigrations: async () => migrations }
    const outcome = await new Migrator({ db: session, provider }).migrateToLatest()
    // If the connection was lost, `outcome` reports that error.
    await sql`RESET statement_timeout`.execute(session).catch(() => undefined)
    return outcome
  })
  if (error !== undefined) {
    await refuseForeignSchema(db, Object.keys(migrations))
    const failed = results?.find((result) => result.status === 'Error')?.migrationName
    throw new Error(`The database could not be migrated${failed ? ` (migration ${failed})` : ''}`, {
      cause: error,
    })
  }
  return (results ?? []).map((result) => result.migrationName)
}

/** Throws if the database has migrations besides `known`, those of this version, in order. */
async function refuseForeignSchema(db: Database, known: readonly string[]): Promise<void> {
  const applied = await listAppliedMigrations(db).catch(() => [])
  const unknown = applied.filter((name) => !known.includes(name))
  if (unknown.length === 0) return
  if (unknown.every((name) => name > known.at(-1)!)) {
    throw new Error(
      `The database was migrated by a newer version of Berth (${unknown.join(', ')}). Start that version, or restore the backup from before the upgrade.`,
    )
  }
  throw new Error(
    `The database was created by a development version of Berth from before the first release (${unknown.join(', ')}) and can't be upgraded. Start with an empty database: set DATA_DIR to a new directory, or DATABASE_URL to a new database.`,
  )
}

async function listAppliedMigrations(db: Database): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`SELECT name FROM kysely_migration ORDER BY name`.execute(db)
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
