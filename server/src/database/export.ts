import { sql } from 'kysely'
import type { Database } from './tables.ts'

/** One table whose rows are exported. All names are quoted. */
interface ExportedTable {
  name: string
  columns: string[]
  /** Foreign keys, which hold at the end of the import */
  foreign_keys: string[]
}

/** What a job queue creates by itself */
const transientTables = ['pgboss.version', 'pgboss.warning', 'pgboss.bam', 'pgboss.queue_stats']
const rowsPerFetch = 1_000

/**
 * Writes all rows, from one snapshot, as a script for `psql`, because the embedded PostgreSQL has no
 * `pg_dump`. In one transaction, it replaces the rows of a database that the same version has migrated.
 */
export function exportDatabase(db: Database, write: (text: string) => Promise<void>): Promise<void> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (snapshot) => {
      await sql`SET LOCAL statement_timeout = 0`.execute(snapshot)
      await sql`SET LOCAL idle_in_transaction_session_timeout = 0`.execute(snapshot)
      const tables = await listTables(snapshot)
      await write(await composeHead(snapshot, tables))
      for (const table of tables) await writeRows(snapshot, table, write)
      await write(await composeTail(snapshot, tables))
    })
}

async function listTables(db: Database): Promise<ExportedTable[]> {
  const { rows } = await sql<ExportedTable>`
    SELECT format('%I.%I', nspname, relname) AS name,
      (SELECT json_agg(quote_ident(attname) ORDER BY attnum) FROM pg_attribute
        WHERE attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = '') AS columns,
      coalesce((SELECT json_agg(quote_ident(conname)) FROM pg_constraint
        WHERE conrelid = pg_class.oid AND contype = 'f' AND NOT condeferrable AND conparentid = 0), '[]') AS foreign_keys
    FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE relkind IN ('r', 'p') AND NOT relispartition AND nspname <> 'information_schema' AND nspname !~ '^pg_'
      AND nspname || '.' || relname <> ALL (${transientTables})
    ORDER BY name`.execute(db)
  return rows
}

/** The beginning of the script: it checks the version, and prepares the tables for rows in any order. */
async function composeHead(db: Database, tables: readonly ExportedTable[]): Promise<string> {
  const { rows } = await sql<{ names: string }>`
    SELECT quote_literal(string_agg(name, ', ' ORDER BY name)) AS names FROM kysely_migration`.execute(db)
  return `-- All rows of a Berth database. Run ROLE=migrate with the same version of Berth on an empty database first, then
-- psql --set ON_ERROR_STOP=1 --file <this file> "$DATABASE_URL"
\\set ON_ERROR_STOP on
BEGIN;
SET LOCAL statement_timeout = 0;
SET LOCAL client_encoding = 'UTF8';
DO $$ BEGIN
  IF (SELECT string_agg(name, ', ' ORDER BY name) FROM public.kysely_migration) IS DISTINCT FROM ${rows[0]!.names} THEN
    RAISE EXCEPTION 'The database was migrated by another version of Berth than the one that exported these rows.';
  END IF;
  IF EXISTS (SELECT FROM public.users) THEN
    RAISE EXCEPTION 'The database is in use: it has users. Import into an empty database.';
  END IF;
END $$;
${tables.map(({ name }) => `ALTER TABLE ${name} DISABLE TRIGGER USER;\n`).join('')}${alterForeignKeys(tables, 'DEFERRABLE INITIALLY DEFERRED')}TRUNCATE ${tables.map(({ name }) => name).join(', ')};
`
}

async function composeTail(db: Database, tables: readonly ExportedTable[]): Promise<string> {
  const { rows } = await sql<{ statement: string }>`
    SELECT format('SELECT setval(%L, %s, %L);', format('%I.%I', schemaname, sequencename),
      coalesce(last_value, start_value), last_value IS NOT NULL) AS statement
    FROM pg_sequences WHERE schemaname !~ '^pg_' ORDER BY statement`.execute(db)
  return `${rows.map(({ statement }) => `${statement}\n`).join('')}SET CONSTRAINTS ALL IMMEDIATE;
${alterForeignKeys(tables, 'NOT DEFERRABLE')}${tables.map(({ name }) => `ALTER TABLE ${name} ENABLE TRIGGER USER;\n`).join('')}COMMIT;
`
}

function alterForeignKeys(tables: readonly ExportedTable[], change: string): string {
  return tables
    .flatMap(({ name, foreign_keys: keys }) =>
      keys.map((key) => `ALTER TABLE ${name} ALTER CONSTRAINT ${key} ${change};\n`),
    )
    .join('')
}

async function writeRows(
  db: Database,
  { name, columns }: ExportedTable,
  write: (text: string) => Promise<void>,
): Promise<void> {
  const values = columns.map((column) => `${column}::text`).join(', ')
  await sql
    .raw(`DECLARE exported NO SCROLL CURSOR FOR SELECT ARRAY[${values}] AS row FROM ${name}`)
    .execute(db)
  await write(`COPY ${name} (${columns.join(', ')}) FROM stdin;\n`)
  for (;;) {
    const { rows } = await sql<{
      row: (string | null)[]
    }>`FETCH ${sql.lit(rowsPerFetch)} FROM exported`.execute(db)
    if (rows.length === 0) break
    await write(rows.map(({ row }) => `${row.map(toCopyText).join('\t')}\n`).join(''))
  }
  await sql`CLOSE exported`.execute(db)
  await write('\\.\n')
}

const escapes: Record<string, string> = {
  '\\': '\\\\',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
}

/** A value in the text format of COPY. */
function toCopyText(value: string | null): string {
  return value === null ? '\\N' : value.replaceAll(/[\\\b\f\n\r\t\v]/g, (character) => escapes[character]!)
}
