import pg from 'pg'

/** Runs statements on the database at `url`, outside a transaction. */
export async function administer(url: string, ...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}

/** A statement that ends all sessions of Berth's role in a database. */
export function endSessionsOf(database: string): string {
  return `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}' AND usename = current_user`
}
