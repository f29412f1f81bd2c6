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
    if (outcome.error === undefined) await requireComplete(session)
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

/** Throws if a table, index, trigger or function of the migrations is missing, as after half a restore. */
async function requireComplete(db: Database): Promise<void> {
  const made = new Set<string>()
  for (const text of await readStatements()) {
    for (const [, verb, name] of text.matchAll(schemaChanges)) {
      if (verb === 'CREATE') made.add(name!)
      else made.delete(name!)
    }
  }
  const { rows } = await sql<{ name: string }>`
    SELECT name FROM unnest(${[...made]}::text[]) AS name
    WHERE name NOT IN (SELECT relname FROM pg_class UNION ALL SELECT tgname FROM pg_trigger
      UNION ALL SELECT proname FROM pg_proc)
    ORDER BY name`.execute(db)
  if (rows.length === 0) return
  const names = rows.map(({ name }) => name).join(', ')
  throw new Error(`The database is incomplete: it lacks ${names}. Restore the backup into an empty database.`)
}

const schemaChanges =
  /^(CREATE|DROP) (?:OR REPLACE |UNIQUE |CONSTRAINT )*(?:TABLE|INDEX|TRIGGER|FUNCTION) (?:IF (?:NOT )?EXISTS )?(\w+)/gm

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

async function listFiles(): Promise<string[]> {
  return (await readdir(migrationsFolder)).filter((file) => file.endsWith('.sql')).toSorted()
}

async function readStatements(): Promise<string[]> {
  return Promise.all((await listFiles()).map((file) => readFile(join(migrationsFolder, file), 'utf8')))
}

async function readMigrations(): Promise<Record<string, Migration>> {
  const migrations = (await listFiles()).map(async (file): Promise<[string, Migration]> => {
    const text = await readFile(join(migrationsFolder, file), 'utf8')
    return [file.replace(/\.sql$/, ''), { up: async (db) => void (await sql.raw(text).execute(db)) }]
  })
  return Object.fromEntries(await Promise.all(migrations))
}
