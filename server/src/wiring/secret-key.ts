import { randomBytes } from 'node:crypto'
import { open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'

/** A generated key has 64 characters. A shorter one, as in SECRET_KEY, may come from an operator. */
const leastCharacters = 32

/**
 * Reads the key from `DATA_DIR/secret-key`, or creates it at the first start for the server's user only.
 * Throws if the file is damaged: a new key would void all links, engine keys and authenticator apps' secrets.
 */
export async function readOrCreateSecretKey(dataDirectory: string): Promise<string> {
  const path = join(dataDirectory, 'secret-key')
  const existing = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (existing !== null) {
    const key = existing.trim()
    if (key.length >= leastCharacters) return key
    throw new Error(
      `${path} is damaged: it has ${key.length} characters instead of at least ${leastCharacters}. Restore it from the backup of DATA_DIR.`,
    )
  }
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
