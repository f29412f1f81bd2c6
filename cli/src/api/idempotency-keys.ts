import { createHash, randomUUID } from 'node:crypto'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { findSessionFile } from './session-store.ts'

/** The key of a request, which is kept until the request has an answer. */
export interface KeptKey {
  key: string
  forget(): Promise<void>
}

interface KeyFile {
  key: string
  pid: number
  createdAt: number
}

/** As long as servers know keys */
const lifetimeMilliseconds = 24 * 3_600_000

/**
 * Keeps the keys of requests on disk. A command that is repeated after it died sends its key again; a command
 * that runs beside it has its own.
 */
export async function keepKey(env: NodeJS.ProcessEnv, request: string): Promise<KeptKey> {
  const key = randomUUID()
  const path = join(
    dirname(findSessionFile(env)),
    'unanswered',
    createHash('sha256').update(request).digest('hex'),
  )
  const kept = { key, forget: () => rm(path, { force: true }).catch(() => undefined) }
  const text = JSON.stringify({ key, pid: process.pid, createdAt: Date.now() } satisfies KeyFile)
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await writeFile(path, text, { flag: 'wx', mode: 0o600 })
    return kept
  } catch (error) {
    // Without a place for the key, the request has one that dies with the command.
    const unkept = { key, forget: async () => undefined }
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return unkept
    const earlier = await readKey(path)
    if (earlier !== null && isRunning(earlier.pid)) return unkept
    const isKnown = earlier !== null && Date.now() - earlier.createdAt < lifetimeMilliseconds
    const own = isKnown ? JSON.stringify({ ...earlier, pid: process.pid }) : text
    await writeFile(path, own, { mode: 0o600 }).catch(() => undefined)
    return isKnown ? { ...kept, key: earlier.key } : kept
  }
}

/** null if the file is missing or damaged. */
async function readKey(path: string): Promise<KeyFile | null> {
  try {
    const { key, pid, createdAt } = JSON.parse(await readFile(path, 'utf8')) as KeyFile
    return typeof key === 'string' && typeof pid === 'number' ? { key, pid, createdAt } : null
  } catch {
    return null
  }
}

function isRunning(pid: number): boolean {
  // In a container, each command has the same id.
  if (pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
