import { createHash } from 'node:crypto'
import { realpath } from 'node:fs/promises'
import { hostname } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { endIfSilent } from './silent-connections.ts'

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

export interface LockEvents {
  /** Called at most once, when another server has taken the lock: this one must stop. */
  onLost: (error: DataDirectoryInUseError) => void
  /** Called when the session ends and after each failed attempt to reacquire the lock */
  onInterrupted: (error: unknown) => void
}

const timeoutMs = 5_000
/** After a broken connection the database needs up to a minute to end the old session. */
const reacquireTimeoutMs = 90_000
const longestPauseMs = 5_000
const pingMs = 5_000
const silenceMs = 10_000

/**
 * Locks a DATA_DIR for one server by an advisory lock, which ends with its session when the server is killed.
 * Throws `DataDirectoryInUseError` if another server holds it for 5 seconds. A lost session is replaced with
 * backoff; only another server's lock is a loss. A standby can't lock: the lock is on the primary, also after
 * a failover. Doesn't work through a pooler in transaction mode.
 */
export async function lockDataDirectory(
  databaseUrl: string,
  dataDirectory: string,
  { onLost, onInterrupted }: LockEvents,
): Promise<DataDirectoryLock> {
  const closing = new AbortController()
  let client = await openLockedSession(databaseUrl, dataDirectory, timeoutMs, closing.signal, onSessionEnd)
  let reacquiring: Promise<void> = Promise.resolve()

  function onSessionEnd(error: Error): void {
    if (closing.signal.aborted) return
    onInterrupted(error)
    reacquiring = reacquire()
  }

  async function reacquire(): Promise<void> {
    for (let pause = 100; !closing.signal.aborted; pause = Math.min(pause * 2, longestPauseMs)) {
      try {
        await delay(pause, undefined, { signal: closing.signal })
        client = await openLockedSession(
          databaseUrl,
          dataDirectory,
          reacquireTimeoutMs,
          closing.signal,
          onSessionEnd,
        )
        return
      } catch (error) {
        if (closing.signal.aborted) return
        if (error instanceof DataDirectoryInUseError) return onLost(error)
        onInterrupted(error)
      }
    }
  }

  return {
    async release() {
      closing.abort()
      await reacquiring
      await client.end()
    },
  }
}

/** Opens a session that holds the lock. `onEnd` is called when the session ends, also by the caller. */
async function openLockedSession(
  databaseUrl: string,
  dataDirectory: string,
  timeout: number,
  signal: AbortSignal,
  onEnd: (error: Error) => void,
): Promise<pg.Client> {
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
    if (held) onEnd(failure)
  })
  try {
    await client.connect()
    endIfSilent(client, silenceMs)
    if (await isStandby(client)) throw new Error('PostgreSQL is a standby, which can’t lock DATA_DIR')
    // The database detects a lost host within a minute, and never ends the idle session itself.
    await client.query(
      'SET idle_session_timeout = 0; SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3',
    )
    const key = await hashPath(dataDirectory)
    const deadline = Date.now() + timeout
    // The session of a killed server ends with a short delay.
    while (!(await tryLock(client, key))) {
      if (Date.now() > deadline) throw new DataDirectoryInUseError(dataDirectory)
      await delay(100, undefined, { signal })
    }
    held = true
    void ping(client)
    return client
  } finally {
    if (!held) await client.end().catch(() => undefined)
  }
}

/** Queries the session, so that it ends soon if its server was lost, frozen or demoted. */
async function ping(client: pg.Client): Promise<void> {
  const ended = new AbortController()
  client.once('end', () => ended.abort())
  try {
    for (;;) {
      await delay(pingMs, undefined, { signal: ended.signal, ref: false })
      if (await isStandby(client)) await client.end()
    }
  } catch {
    // The session has ended, which `onEnd` handles.
  }
}

async function isStandby(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby')
  return rows[0]?.standby === true
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
