import { mkdir, readdir, rename, rm, rmdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { hasErrorCode, readJson, unlessGone, writeJson } from '../files.ts'
import { readArguments, readStatus, searchProcesses } from '../linux-processes.ts'

/** Names the process that installs into a folder, or deletes it. */
const lockFile = 'berth-installing.json'
/** How long a process takes at most to look at a lock and write its own */
const guardMs = 10_000

/** The id of the process that installs into a folder; null if none does */
export async function findInstaller(folder: string): Promise<number | null> {
  const { pid, started } = (await readJson(join(folder, lockFile))) ?? {}
  if (typeof pid !== 'number' || typeof started !== 'string') return null
  return (await readStart(pid)) === started ? pid : null
}

/** Marks a folder, which may be new, as this process's. Resolves to the id of another that has it. */
export function lockInstallation(folder: string): Promise<number | null> {
  return guard(folder, async () => {
    await mkdir(folder, { mode: 0o755, recursive: true })
    const installer = await findInstaller(folder)
    if (installer !== null) return installer
    await writeJson(join(folder, lockFile), { pid: process.pid, started: await readStart(process.pid) })
    return null
  })
}

/** Runs a function while no other process looks at the lock of a folder. */
async function guard<Result>(folder: string, run: () => Promise<Result>): Promise<Result> {
  const path = join(dirname(folder), `.lock-${basename(folder)}`)
  for (;;) {
    try {
      await mkdir(path)
      break
    } catch (error) {
      if (!hasErrorCode(error, 'EEXIST')) throw error
      const made = await unlessGone(stat(path), null)
      // A process that was killed has left it.
      if (made !== null && made.mtimeMs < Date.now() - guardMs) await unlessGone(rmdir(path), undefined)
      else await sleep(20)
    }
  }
  try {
    return await run()
  } finally {
    await unlessGone(rmdir(path), undefined)
  }
}

/** Deletes what a locked folder has: an interrupted installer may have written half a file. */
export async function clearInstallation(folder: string): Promise<void> {
  await endLeftovers(folder)
  for (const name of await readdir(folder)) {
    if (name !== lockFile) await rm(join(folder, name), { recursive: true, force: true })
  }
}

/** Ends what an interrupted installer has started, as `venv` starts `pip`, because it writes on (Linux). */
async function endLeftovers(folder: string): Promise<void> {
  if (process.platform !== 'linux') return
  // The kernel can't end a program whose disk hangs.
  for (let tries = 0; tries < 100; tries += 1) {
    const left = await findLeftovers(folder)
    if (left.length === 0) return
    left.forEach(kill)
    await sleep(20)
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended, or belongs to another account.
  }
}

/** The ids of processes whose command line names a file of the folder */
function findLeftovers(folder: string): Promise<number[]> {
  return searchProcesses(async (pid) => {
    const args = (await readArguments(pid)) ?? []
    return pid !== process.pid && args.some((part) => part.startsWith(`${folder}/`)) ? [pid] : []
  })
}

/** Deletes a locked folder, which the next installer finds whole or not at all. */
export async function deleteInstallation(folder: string): Promise<void> {
  const root = dirname(folder)
  const removed = `.removed-${basename(folder)}`
  // Another process may have been killed meanwhile.
  await rm(join(root, removed), { recursive: true, force: true })
  await rename(folder, join(root, removed))
  await rm(join(root, removed), { recursive: true, force: true })
}

/** Ends the mark of this process. */
export async function unlockInstallation(folder: string): Promise<void> {
  await rm(join(folder, lockFile), { force: true })
}

/** When a process started, because its id alone may have been reused; empty without a process */
async function readStart(pid: number): Promise<string> {
  if (process.platform !== 'linux') return isAlive(pid) ? 'alive' : ''
  return (await readStatus(pid))[19] ?? ''
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
