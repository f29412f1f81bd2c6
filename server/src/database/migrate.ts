import { readFile, readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { sql } from 'kysely'
import { Migrator } from 'kysely/migration'
import type { Migration } from 'kysely/migration'
import type { Database } from './tables.ts'

const migrationsFolder = resolve(import.meta.dirname, '../../migrations')

/** Brings the database to the newest schema, one process at a time, and returns the names of the migrations that it ran. */
export async function migrateDatabase(db: Database): Promise<string[]> {
  const migrator = new Migrator({ db, provider: { getMigrations: readMigrations } })
  const { error, results } = await migrator.migrateToLatest()
  if (error !== undefined) {
    const failed = results?.find((result) => result.status === 'Error')?.migrationName
    throw new Error(`The database can't be brought up to date${failed ? ` (migration ${failed})` : ''}`, {
      cause: error,
    })
  }
  return (results ?? []).map((result) => result.migrationName)
}

async function readMigrations(): Promise<Record<string, Migration>> {
  const files = (await readdir(migrationsFolder)).filter((file) => file.endsWith('.sql')).toSorted()
  const migrations = files.map(async (file): Promise<[string, Migration]> => {
    const text = await readFile(join(migrationsFolder, file), 'utf8')
    return [file.replace(/\.sql$/, ''), { up: async (db) => void (await sql.raw(text).execute(db)) }]
  })
  return Object.fromEntries(await Promise.all(migrations))
}
