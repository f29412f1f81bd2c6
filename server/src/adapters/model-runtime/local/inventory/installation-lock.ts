import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { hasErrorCode, readJson, unlessGone, writeJson } from '../files.ts'

/** Names the process that is installing into a folder. */
const lockFile = 'berth-installing.json'

/** The id of the process that is installing into a folder; null if none is */
export async function findInstaller(folder: string): Promise<number | null> {
  const { pid, started } = (await readJson(join(folder, lockFile))) ?? {}
  if (typeof pid !== 'number' || typeof started !== 'string') return null
  return (await readStart(pid)) === started ? pid : null
}

/** Makes a folder and marks it as this process's. Resolves to the other process if another has it. */
export async function lockInstallation(folder: string): Promise<number | null> {
  try {
    await mkdir(folder, { mode: 0o755 })
  } catch (error) {
    if (!hasErrorCode(error, 'EEXIST')) throw error
    const installer = await findInstaller(folder)
    if (installer !== null) return installer
    // The installer was interrupted. What it has written may be half a file.
    await rm(folder, { recursive: true, force: true })
    await mkdir(folder, { mode: 0o755 })
  }
  await writeJson(join(folder, lockFile), { pid: process.pid, started: await readStart(process.pid) })
  return null
}

/** Ends the mark of this process. */
export async function unlockInstallation(folder: string): Promise<void> {
  await rm(join(folder, lockFile), { force: true })
}

/** When a process started, because its id alone may have been reused; empty if there is none */
async function readStart(pid: number): Promise<string> {
  const stat = await unlessGone(readFile(`/proc/${pid}/stat`, 'utf8'), '')
  if (process.platform !== 'linux') return isAlive(pid) ? 'alive' : ''
  return stat === '' ? '' : (stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '')
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
