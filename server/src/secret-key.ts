import { randomBytes } from 'node:crypto'
import { open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'

/** Reads the key from `DATA_DIR/secret-key`, or creates it at the first start. Only the server's user can read the file. */
export async function readOrCreateSecretKey(dataDirectory: string): Promise<string> {
  const path = join(dataDirectory, 'secret-key')
  const existing = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (existing !== null) return existing.trim()
  const key = randomBytes(32).toString('hex')
  const file = await open(`${path}.new`, 'w', 0o600)
  try {
    await file.writeFile(`${key}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(`${path}.new`, path)
  return key
}
