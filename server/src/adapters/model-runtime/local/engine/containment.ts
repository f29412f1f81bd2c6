import { execFile, spawn } from 'node:child_process'
import { access, chmod, chown, mkdir, readdir, stat } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import { promisify } from 'node:util'
import { canReach, describeUnreachable, permits, runningAsRoot } from '../../../../base/account.ts'
import type { Account } from '../../../../base/account.ts'
import { hasErrorCode } from '../files.ts'
import { findProgram } from '../find-program.ts'
import type { LocalRuntimeSettings } from '../settings.ts'

const read = 4
const write = 2
const traverse = 1

const run = promisify(execFile)

/** The account of engines if Berth is root: ids that systemd leaves unused, and that containers map. */
export const engineAccount: Account = { uid: 60_850, gid: 60_850 }

/** With which rights an engine runs. */
export interface EngineRights {
  /** null for that of the server */
  account: Account | null
  /** The command that limits its rights, before the engine's; empty on a system without `setpriv` */
  prefix: readonly string[]
  /** The folder for code that engines compile */
  cacheDirectory: string
}

/** Keeps engines, which load files of strangers, from the server's files and from new privileges. */
export interface Containment {
  /** Of a program that reads no file but its own */
  rights: EngineRights
  /** The same rights, with a cache for what a probe compiles */
  prepareProbe(): Promise<EngineRights>
  /** Gives an engine access to its folder and to these files and folders of its weights, and to no others. */
  prepare(directory: string, weights: readonly string[]): Promise<EngineRights>
}

type Settings = Pick<LocalRuntimeSettings, 'dataDirectory' | 'logger' | 'environment'>

/** `programs` are the files that engines run: scripts, or names of programs. */
export async function openContainment(settings: Settings, programs: readonly string[]): Promise<Containment> {
  const { dataDirectory, logger, environment } = settings
  const path = environment['PATH'] ?? ''
  const setpriv = process.platform === 'linux' ? await findProgram('setpriv', path) : null
  const plain: EngineRights = {
    account: null,
    prefix: await keepRunning([setpriv, '--no-new-privs', '--']),
    cacheDirectory: join(dataDirectory, 'compile-cache'),
  }
  await createGpuDevices()
  const uncontained = { rights: plain, prepareProbe: async () => plain }
  if (process.platform !== 'linux' || !runningAsRoot()) return { ...uncontained, prepare: async () => plain }

  const warned = new Set<string>()
  const refuse = (reason: string): EngineRights => {
    if (!warned.has(reason)) logger.warn({ reason }, 'engines run as root')
    warned.add(reason)
    return plain
  }
  const contained: EngineRights = {
    account: engineAccount,
    prefix: await keepRunning([setpriv, ...(await describeAccount()), '--no-new-privs', '--']),
    // Apart from the server's own, which an engine must not be able to change.
    cacheDirectory: join(dataDirectory, 'engine-cache'),
  }
  for (const folder of [dataDirectory, join(dataDirectory, 'engines')]) await addGroupRight(folder, traverse)
  const reason = (await canSwitch(contained))
    ? await findUnreachable([...programs, dataDirectory], path)
    : 'this process may not change users'
  if (reason !== null) return { ...uncontained, prepare: async () => refuse(reason) }
  return {
    rights: contained,
    async prepareProbe() {
      await createCache(contained.cacheDirectory)
      return contained
    },
    async prepare(directory, weights) {
      await createCache(contained.cacheDirectory)
      for (const each of weights) await grantRead(dataDirectory, each)
      await openFolder(directory)
      const unreachable = await findUnreachable([...weights, contained.cacheDirectory, directory], path)
      return unreachable === null ? contained : refuse(unreachable)
    },
  }
}

/** The folder of a kind of compiled code: the operator's if the engine may write there, else Berth's. */
export async function chooseCache(
  { account, cacheDirectory }: EngineRights,
  name: string,
  own: string | undefined,
): Promise<string> {
  if (own === undefined || own === '') return join(cacheDirectory, name)
  const entry = account === null ? null : await stat(own).catch(() => null)
  return account === null || (entry !== null && permits(entry, account, write))
    ? own
    : join(cacheDirectory, name)
}

/** The options of `setpriv` for the account, with the groups that own the devices of GPUs. */
async function describeAccount(): Promise<string[]> {
  const { uid, gid } = engineAccount
  const groups = await listDeviceGroups()
  const options = groups.length === 0 ? ['--clear-groups'] : ['--groups', groups.join(',')]
  return ['--reuid', String(uid), '--regid', String(gid), ...options]
}

async function listDeviceGroups(): Promise<number[]> {
  const names = await readdir('/dev').catch(() => [])
  const cards = await readdir('/dev/dri').catch(() => [])
  const devices = [
    ...names.filter((name) => /^(nvidia|kfd)/.test(name)),
    ...cards.map((card) => `dri/${card}`),
  ]
  const found = await Promise.all(devices.map((name) => stat(`/dev/${name}`).catch(() => null)))
  const gids = found.filter((entry) => entry?.isCharacterDevice() === true).map((entry) => entry!.gid)
  return [...new Set(gids)].filter((gid) => gid > 0)
}

/** CUDA can't create this device without privileges. The driver's program can. */
async function createGpuDevices(): Promise<void> {
  const exists = (path: string) =>
    access(path).then(
      () => true,
      () => false,
    )
  if (!(await exists('/dev/nvidiactl')) || (await exists('/dev/nvidia-uvm'))) return
  await run('nvidia-modprobe', ['-u', '-c', '0'], { timeout: 10_000 }).catch(() => {})
}

/** Returns a command that runs its arguments, if it does; otherwise nothing. */
async function keepRunning([program, ...args]: (string | null)[]): Promise<string[]> {
  if (program === null || program === undefined) return []
  const command = args.map(String)
  return run(program, [...command, 'true'], { timeout: 10_000 }).then(
    () => [program, ...command],
    () => [],
  )
}

/** False in a container without the capability to change users. */
async function canSwitch({ account, prefix }: EngineRights): Promise<boolean> {
  if (prefix.length > 0) return true
  return new Promise((resolve) => {
    const child = spawn('true', { ...account, stdio: 'ignore' })
    child.on('error', () => resolve(false))
    child.on('close', (code) => resolve(code === 0))
  })
}

/** The first of these files, folders or programs that the account can't read, as a reason; null for none. */
async function findUnreachable(paths: readonly string[], searchPath: string): Promise<string | null> {
  for (const path of paths) {
    const located = path.includes(sep) ? path : await findProgram(path, searchPath)
    if (located === null) continue
    const reaches = await canReach(located, engineAccount).catch((error: unknown) => {
      // What doesn't exist is no secret, and the engine says that it doesn't.
      if (hasErrorCode(error, 'ENOENT', 'ENOTDIR')) return true
      throw error
    })
    if (!reaches) return describeUnreachable(located, engineAccount)
  }
  return null
}

async function createCache(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 })
  await mkdir(join(path, 'home'), { recursive: true, mode: 0o700 })
  for (const folder of [path, join(path, 'home')]) await chown(folder, engineAccount.uid, engineAccount.gid)
}

/**
 * Lets the engine write files in its folder, but neither replace nor read the server's there. Engines see
 * when others are busy, so they may list the folder of all folders.
 */
async function openFolder(directory: string): Promise<void> {
  for (const folder of [dirname(dirname(directory)), dirname(directory)])
    await addGroupRight(folder, traverse)
  await addGroupRight(dirname(directory), read | traverse)
  await chown(directory, 0, engineAccount.gid)
  await chmod(directory, 0o1770)
}

/** Lets the account read weights in DATA_DIR, whose names others can't list. */
async function grantRead(dataDirectory: string, path: string): Promise<void> {
  if (!path.startsWith(dataDirectory + sep)) return
  const parts = path.slice(dataDirectory.length + 1).split(sep)
  const folders = parts.slice(0, -1).map((_, index) => join(dataDirectory, ...parts.slice(0, index + 1)))
  for (const folder of [dataDirectory, ...folders]) await addGroupRight(folder, traverse)
  await addGroupRight(path, read)
  if (!(await stat(path).catch(() => null))?.isDirectory()) return
  await addGroupRight(path, read | traverse)
  for (const entry of await readdir(path, { withFileTypes: true, recursive: true })) {
    await addGroupRight(join(entry.parentPath, entry.name), entry.isDirectory() ? read | traverse : read)
  }
}

/** Gives the account's group these rights, unless the account has them or another group has some. */
async function addGroupRight(path: string, right: number): Promise<void> {
  const entry = await stat(path).catch(() => null)
  if (entry === null || hasRights(entry, right)) return
  if (entry.gid !== engineAccount.gid) {
    if (entry.gid !== 0 && (entry.mode & 0o070) !== 0) return
    await chown(path, entry.uid, engineAccount.gid)
    await chmod(path, (entry.mode & 0o7707) | (right << 3))
  } else {
    await chmod(path, (entry.mode & 0o7777) | (right << 3))
  }
}

function hasRights(entry: { mode: number; uid: number; gid: number }, right: number): boolean {
  return [read, traverse].every((bit) => (right & bit) === 0 || permits(entry, engineAccount, bit))
}
