import { readFile, readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Kysely, PostgresDialect, sql } from 'kysely'
import type { ColumnType, Generated, Transaction } from 'kysely'
import { Migrator } from 'kysely/migration'
import type { Migration } from 'kysely/migration'
import type { Pool } from 'pg'

/** The PostgreSQL schema that holds the sandbox's tables. */
export const schemaName = 'payment_sandbox'

const migrationsFolder = resolve(import.meta.dirname, '../migrations')

export interface SandboxTables {
  objects: {
    id: string
    sequence: Generated<number>
    type: string
    customer_id: string | null
    data: ColumnType<unknown, string, string>
    due_at: Date | null
  }
  events: {
    id: string
    sequence: Generated<number>
    type: string
    data: ColumnType<unknown, string, never>
    created_at: Date
    attempts: Generated<number>
    due_at: Date | null
    delivered_at: Date | null
    last_error: string | null
  }
  idempotency_keys: {
    key: string
    fingerprint: Buffer
    status: number | null
    body: ColumnType<unknown, string, string>
    created_at: Date
  }
  meter_events: {
    identifier: string
    event_name: string
    customer_id: string
    at: Date
    value: ColumnType<string, string, never>
  }
}

export type SandboxDatabase = Kysely<SandboxTables>
export type SandboxTransaction = Transaction<SandboxTables>

/** Opens the sandbox's tables over a pool that the caller owns and closes. */
export function openDatabase(pool: Pool): SandboxDatabase {
  return new Kysely<SandboxTables>({ dialect: new PostgresDialect({ pool }) }).withSchema(schemaName)
}

/** Creates the schema and runs the pending migrations, in one process at a time. */
export async function migrate(db: SandboxDatabase): Promise<void> {
  const provider = { getMigrations: readMigrations }
  const { error } = await new Migrator({ db, provider, migrationTableSchema: schemaName }).migrateToLatest()
  if (error !== undefined)
    throw new Error('The payment sandbox could not migrate its tables.', { cause: error })
}

async function readMigrations(): Promise<Record<string, Migration>> {
  const migrations: Record<string, Migration> = {}
  for (const file of await readdir(migrationsFolder)) {
    const text = await readFile(join(migrationsFolder, file), 'utf8')
    migrations[file.replace(/\.sql$/, '')] = { up: async (db) => void (await sql.raw(text).execute(db)) }
  }
  return migrations
}
