import { execFile } from 'node:child_process'
import { chmod, chown, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findFreePort } from '../../src/base/free-port.ts'
import { chooseAccount } from '../../src/database/embedded/account.ts'

const run = promisify(execFile)

export interface OwnPostgres {
  /** The database of this name, which is created empty */
  createDatabase(name: string): Promise<string>
  stop(): Promise<void>
}

/** The folder of this machine's own PostgreSQL programs, `pg_dump` included; null when it has none. */
export async function findPostgresPrograms(): Promise<string | null> {
  try {
    return (await run('pg_config', ['--bindir'])).stdout.trim()
  } catch {
    return null
  }
}

/** Starts a PostgreSQL of the version that `pg_dump` has, because `pg_dump` refuses a newer server. */
export async function startOwnPostgres(programs: string): Promise<OwnPostgres> {
  const account = await chooseAccount()
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'berth-postgres-')))
  await chmod(folder, 0o755)
  if (account !== undefined) await chown(folder, account.uid, account.gid)
  const port = await findFreePort()
  const data = join(folder, 'data')
  const call = (program: string, ...args: string[]) =>
    run(join(programs, program), args, { ...account, cwd: folder })
  await call('initdb', '--pgdata', data, '--username', 'berth', '--auth', 'trust', '--no-sync')
  const options = `-p ${port} -k ${folder} -c listen_addresses=127.0.0.1 -c fsync=off`
  await call(
    'pg_ctl',
    'start',
    '--wait',
    '--pgdata',
    data,
    '--log',
    join(folder, 'log'),
    '--options',
    options,
  )
  return {
    async createDatabase(name) {
      await call('createdb', '--host', '127.0.0.1', '--port', String(port), '--username', 'berth', name)
      return `postgresql://berth@127.0.0.1:${port}/${name}`
    },
    async stop() {
      await call('pg_ctl', 'stop', '--pgdata', data, '--mode', 'immediate')
      await rm(folder, { recursive: true, force: true })
    },
  }
}
