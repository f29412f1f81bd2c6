import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { chmod, chown, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { FileHandle } from 'node:fs/promises'
import type { Account } from '../../../base/account.ts'

/** True for a Node system error with one of these codes, such as `ENOENT`. */
export function hasErrorCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code))
}

/** Flushes a folder, so that renames and deletions in it survive a power loss. */
export async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Lets the group of an account read a file of this process. */
export async function shareFile(path: string, { gid }: Account): Promise<void> {
  await chown(path, -1, gid)
  await chmod(path, 0o640)
}

/** Replaces a JSON file atomically and durably. */
export async function writeJson(path: string, value: unknown): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
  try {
    const handle = await open(temporary, 'wx', 0o600)
    try {
      await handle.writeFile(JSON.stringify(value))
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
  await syncDirectory(dirname(path))
}

/** More than any of the files that an engine writes about itself */
const maxJsonBytes = 2 ** 20

/** Opens a file that an engine may have replaced: no link, and no pipe that would block. */
export async function openRegular(path: string): Promise<FileHandle> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  if ((await handle.stat()).isFile()) return handle
  await handle.close()
  throw Object.assign(new Error(`${path} is no file`), { code: 'ENOENT' })
}

/** The text of a file of the kernel; empty if it is missing, or closed to this process. */
export async function readKernelFile(path: string): Promise<string> {
  return unlessGone(readFile(path, 'utf8'), '')
}

/** Resolves to `fallback` if a file or process is missing, or closed to this process. */
export async function unlessGone<Value, Fallback>(
  reading: Promise<Value>,
  fallback: Fallback,
): Promise<Value | Fallback> {
  return reading.catch((error: unknown) => {
    if (hasErrorCode(error, 'ENOENT', 'ENOTDIR', 'ESRCH', 'EACCES', 'EPERM')) return fallback
    throw error
  })
}

async function readText(path: string): Promise<string> {
  const handle = await openRegular(path)
  try {
    const length = Math.min((await handle.stat()).size, maxJsonBytes)
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, 0)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await handle.close()
  }
}

/** Reads a JSON object. Returns null if the file is missing or contains anything else. */
export async function readJson(path: string): Promise<Record<string, unknown> | null> {
  let text: string
  try {
    text = await readText(path)
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) return null
    throw error
  }
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...value } : null
  } catch {
    return null
  }
}
