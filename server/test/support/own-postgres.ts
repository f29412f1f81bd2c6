import { execFile } from 'node:child_process'
import { appendFile, chmod, chown, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findFreePort } from '../../src/base/free-port.ts'
import { chooseAccount } from '../../src/database/embedded/account.ts'
import { startGate } from './database-gate.ts'

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

/** A PostgreSQL in a folder, with the programs of this machine. */
class Cluster {
  readonly #programs: string
  readonly #account: Awaited<ReturnType<typeof chooseAccount>>
  readonly folder: string
  readonly port: number

  private constructor(
    programs: string,
    account: Awaited<ReturnType<typeof chooseAccount>>,
    folder: string,
    port: number,
  ) {
    this.#programs = programs
    this.#account = account
    this.folder = folder
    this.port = port
  }

  static async create(programs: string): Promise<Cluster> {
    const account = await chooseAccount()
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'berth-postgres-')))
    await chmod(folder, 0o755)
    if (account !== undefined) await chown(folder, account.uid, account.gid)
    return new Cluster(programs, account, folder, await findFreePort())
  }

  get data(): string {
    return join(this.folder, 'data')
  }

  url(database: string): string {
    return `postgresql://berth@127.0.0.1:${this.port}/${database}`
  }

  call(program: string, ...args: string[]) {
    return run(join(this.#programs, program), args, { ...this.#account, cwd: this.folder })
  }

  async start(): Promise<void> {
    const options = `-p ${this.port} -k ${this.folder} -c listen_addresses=127.0.0.1 -c fsync=off`
    const log = join(this.folder, 'log')
    await this.#control('start', '--wait', '--log', log, '--options', options)
  }

  async stop(mode: 'fast' | 'immediate'): Promise<void> {
    await this.#control('stop', '--mode', mode)
  }

  async promote(): Promise<void> {
    await this.#control('promote', '--wait')
  }

  /** Makes a stopped PostgreSQL a standby of another one. */
  async follow(primary: Cluster): Promise<void> {
    const setting = `primary_conninfo = 'host=127.0.0.1 port=${primary.port} user=berth'\n`
    await appendFile(join(this.data, 'postgresql.auto.conf'), setting)
    await writeFile(join(this.data, 'standby.signal'), '')
    await this.start()
  }

  /** Signals the main process and its children. */
  async signal(name: NodeJS.Signals): Promise<void> {
    const [pid] = (await readFile(join(this.data, 'postmaster.pid'), 'utf8')).split('\n')
    const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
    for (const each of [pid!, ...children.trim().split(' ')]) process.kill(Number(each), name)
  }

  async remove(): Promise<void> {
    await this.signal('SIGCONT').catch(() => undefined)
    await this.stop('immediate').catch(() => undefined)
    await rm(this.folder, { recursive: true, force: true })
  }

  #control(command: string, ...args: string[]) {
    return this.call('pg_ctl', command, '--pgdata', this.data, ...args)
  }
}

async function startPrimary(programs: string): Promise<Cluster> {
  const cluster = await Cluster.create(programs)
  await cluster.call(
    'initdb',
    '--pgdata',
    cluster.data,
    '--username',
    'berth',
    '--auth',
    'trust',
    '--no-sync',
  )
  await cluster.start()
  return cluster
}

async function createDatabase(cluster: Cluster, name: string): Promise<string> {
  const { port } = cluster
  await cluster.call('createdb', '--host', '127.0.0.1', '--port', String(port), '--username', 'berth', name)
  return cluster.url(name)
}

/** Starts a PostgreSQL of the version that `pg_dump` has, because `pg_dump` refuses a newer server. */
export async function startOwnPostgres(programs: string): Promise<OwnPostgres> {
  const cluster = await startPrimary(programs)
  return { createDatabase: (name) => createDatabase(cluster, name), stop: () => cluster.remove() }
}

/** A database with a standby. Clients connect through a proxy. */
export interface ReplicatedDatabase {
  /** Through the proxy */
  url: string
  /** The address of the present primary */
  primaryUrl(): string
  standbyUrl(): string
  /**
   * Promotes the standby, and makes the old primary its standby, to which the proxy still leads. Then
   * `switchProxy` leads new connections to the new primary; open ones stay at the standby.
   */
  failOver(): Promise<{ switchProxy: () => void }>
  /** Stops the processes of the primary, until `thaw`. */
  freeze(): Promise<void>
  thaw(): Promise<void>
  /** Cuts all connections through the proxy and refuses new ones, until `connect`. */
  disconnect(): Promise<void>
  connect(): Promise<void>
  stop(): Promise<void>
}

/** Starts a PostgreSQL with an empty database and a streaming standby. */
export async function startReplicatedDatabase(programs: string, name: string): Promise<ReplicatedDatabase> {
  let primary = await startPrimary(programs)
  let standby = await Cluster.create(programs)
  const gate = await startGate(await createDatabase(primary, name))
  const { port } = primary
  await standby.call(
    'pg_basebackup',
    ...`--pgdata ${standby.data} --host 127.0.0.1 --port ${port} --username berth --checkpoint fast --no-sync`.split(
      ' ',
    ),
  )
  await standby.follow(primary)
  return {
    url: gate.url,
    primaryUrl: () => primary.url(name),
    standbyUrl: () => standby.url(name),
    async failOver() {
      const old = primary
      // Sends all its WAL to the standby first, so that nothing that was acknowledged is lost
      await old.stop('fast')
      await standby.promote()
      await old.follow(standby)
      ;[primary, standby] = [standby, old]
      return { switchProxy: () => gate.lead(primary.url(name)) }
    },
    freeze: () => primary.signal('SIGSTOP'),
    thaw: () => primary.signal('SIGCONT'),
    disconnect: () => gate.shut(),
    connect: () => gate.open(),
    async stop() {
      await gate.close()
      await standby.remove()
      await primary.remove()
    },
  }
}
