import { access, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  )

/** Where the person's own file waits while a program runs. An empty one stands for no file. */
const backupOf = (path: string) => `${path}.before-berth`

/**
 * Replaces a settings file, and keeps what was there. A backup that a killed launch left behind stays the
 * backup.
 */
export async function replaceSettings(path: string, content: string): Promise<void> {
  const backup = backupOf(path)
  await mkdir(dirname(path), { recursive: true })
  if (!(await exists(backup))) {
    if (await exists(path)) await rename(path, backup)
    else await writeFile(backup, '')
  }
  await writeFile(path, content, { mode: 0o600 })
}

/** Puts back what `replaceSettings` replaced. Resolves to false if nothing was replaced. */
export async function restoreSettings(path: string): Promise<boolean> {
  const backup = backupOf(path)
  const before = await readFile(backup, 'utf8').catch(() => null)
  if (before === null) return false
  if (before === '') await Promise.all([rm(path, { force: true }), rm(backup)])
  else await rename(backup, path)
  return true
}
