import { createHash } from 'node:crypto'
import { realpath } from 'node:fs/promises'
import { hostname } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'

/** Another server holds this DATA_DIR. Whoever gets this must leave the database running: the other one uses it. */
export class DataDirectoryInUseError extends Error {
  constructor(dataDirectory: string) {
    super(
      `Another Berth server already uses the DATA_DIR ${dataDirectory}: stop that one, or give this one a DATA_DIR of its own`,
    )
    this.name = 'DataDirectoryInUseError'
  }
}

export interface DataDirectoryLock {
  /** Lets the next server in; never calls `onLost`. */
  release(): Promise<void>
}

const patienceMs = 5000

/**
 * Claims a DATA_DIR of this host for one server, by an advisory lock of a database session that lives as long as the
 * server does; the database frees it when the server is killed. Throws `DataDirectoryInUseError` when another server
 * keeps it for 5 seconds. `onLost` is called at most once, when the session ends unasked: the server must stop then.
 * Needs a session of its own, so not a connection through a pooler in transaction mode.
 */
export async function lockDataDirectory(
  databaseUrl: string,
  dataDirectory: string,
  onLost: (error: Error) => void,
): Promise<DataDirectoryLock> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: 'berth data directory lock',
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 30_000,
  })
  let held = false
  let failure = new Error('The database session that claims DATA_DIR has ended')
  client.on('error', (error) => (failure = error))
  client.once('end', () => {
    if (held) onLost(failure)
    held = false
  })
  try {
    await client.connect()
    // The database notices within a minute that this host is gone, and never ends the idle session itself.
    await client.query(
      'SET idle_session_timeout = 0; SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3',
    )
    const key = await keyOf(dataDirectory)
    const deadline = Date.now() + patienceMs
    // A killed server's session lives on for the moment that the database needs to notice.
    while (!(await tryLock(client, key))) {
      if (Date.now() > deadline) throw new DataDirectoryInUseError(dataDirectory)
      await delay(100)
    }
    held = true
  } finally {
    if (!held) await client.end().catch(() => undefined)
  }
  return {
    async release() {
      held = false
      await client.end()
    },
  }
}

async function tryLock(client: pg.Client, key: bigint): Promise<boolean> {
  const { rows } = await client.query<{ locked: boolean }>('SELECT pg_try_advisory_lock($1) AS locked', [
    key.toString(),
  ])
  return rows[0]?.locked === true
}

async function keyOf(dataDirectory: string): Promise<bigint> {
  const name = ['berth data directory', hostname(), await realpath(dataDirectory)].join('\0')
  return createHash('sha256').update(name).digest().readBigInt64BE()
}
