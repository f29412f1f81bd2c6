import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { CommandError, describeFileError } from '../base/errors.ts'

/** A session at a server. */
export interface StoredSession {
  /** The value of the `Cookie` header */
  cookie: string
  email: string
}

interface SessionFile {
  /** The server of the last sign-in */
  current: string | null
  /** Sessions by the origin of their server, so that no server gets the cookie of another */
  servers: Record<string, StoredSession>
}

/** Path of the file with the sessions. Throws if this account has no home directory. */
export function findSessionFile(env: NodeJS.ProcessEnv): string {
  const own = env['BERTH_CONFIG_DIR']
  if (own) return join(own, 'sessions.json')
  const config = env['XDG_CONFIG_HOME']
  if (config) return join(config, 'berth', 'sessions.json')
  try {
    return join(homedir(), '.config', 'berth', 'sessions.json')
  } catch {
    throw new CommandError(
      'This account has no home directory. Set BERTH_CONFIG_DIR to a folder for your session.',
    )
  }
}

/** Reads all sessions; none if there is no file. */
export async function readSessions(env: NodeJS.ProcessEnv): Promise<SessionFile> {
  const path = findSessionFile(env)
  let text
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return { current: null, servers: {} }
    throw new CommandError(`Your session can't be read: ${describeFileError(error)}.`)
  }
  try {
    const { current, servers } = JSON.parse(text) as SessionFile
    return { current, servers: { ...servers } }
  } catch {
    throw new CommandError(`${path} is damaged. Delete it, and sign in again with \`berth login\`.`)
  }
}

/** Stores or removes the session of a server, and makes the server the current one. */
export async function storeSession(
  env: NodeJS.ProcessEnv,
  url: string,
  session: StoredSession | null,
): Promise<void> {
  const { servers } = await readSessions(env)
  if (session === null) delete servers[url]
  else servers[url] = session
  await writeSessions(env, { current: url, servers })
}

/** Throws if no session can be stored, before a person signs in for nothing. */
export async function checkSessionFile(env: NodeJS.ProcessEnv): Promise<void> {
  await writeSessions(env, await readSessions(env))
}

/** Replaces the file, so that a crash leaves the old or the new one. Only its owner can read it. */
async function writeSessions(env: NodeJS.ProcessEnv, content: SessionFile): Promise<void> {
  const path = findSessionFile(env)
  const fresh = `${path}.${process.pid}`
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await writeFile(fresh, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 })
    await rename(fresh, path)
  } catch (error) {
    await rm(fresh, { force: true }).catch(() => {})
    throw new CommandError(
      `Your session can't be stored: ${describeFileError(error)}. Set BERTH_CONFIG_DIR to a folder where you can write.`,
    )
  }
}
