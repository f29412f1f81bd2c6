import { createHash } from 'node:crypto'
import { realpath } from 'node:fs/promises'
import { hostname } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'

/** Another server holds the lock on this DATA_DIR. Leave the database running: the other server uses it. */
export class DataDirectoryInUseError extends Error {
  constructor(dataDirectory: string) {
    super(
      `Another Berth server uses the DATA_DIR ${dataDirectory}. Stop that server, or set DATA_DIR to another directory.`,
    )
    this.name = 'DataDirectoryInUseError'
  }
}

export interface DataDirectoryLock {
  /** Releases the lock without calling `onLost`. */
  release(): Promise<void>
}

const timeoutMs = 5000

/**
 * Locks a DATA_DIR of this host for one server. The advisory lock belongs to a database session, so the database releases it when
 * the server is killed. Throws `DataDirectoryInUseError` if another server holds the lock for 5 seconds. `onLost` is called once if
 * the session ends unexpectedly: the server must stop. Doesn't work through a connection pooler in transaction mode.
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
  let failure = new Error('The database session that locks DATA_DIR ended')
  client.on('error', (error) => (failure = error))
  client.once('end', () => {
    if (held) onLost(failure)
    held = false
  })
  try {
    await client.connect()
    // The database detects within a minute that this host is gone. It never ends the idle session itself.
    await client.query(
      'SET idle_session_timeout = 0; SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3',
    )
    const key = await hashPath(dataDirectory)
    const deadline = Date.now() + timeoutMs
    // The session of a killed server ends with a short delay.
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

async function hashPath(dataDirectory: string): Promise<bigint> {
  const name = ['berth data directory', hostname(), await realpath(dataDirectory)].join('\0')
  return createHash('sha256').update(name).digest().readBigInt64BE()
}
