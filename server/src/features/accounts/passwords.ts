import { randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { hash, verify } from '@node-rs/argon2'
import { createBoundedQueue } from '../../base/bounded-queue.ts'

/** argon2id with the minimum parameters of the OWASP Password Storage Cheat Sheet: 19 MiB, 2 passes, 1 lane. */
const parameters = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 }

export const passwordBytes = { min: 8, max: 72 }

/**
 * argon2 runs on libuv's pool of four threads, which files, DNS and gzip share. At most two hashes at a time leave the others free,
 * and a core for the event loop. 200 waiting hashes are about five seconds of work.
 */
const inTurn = createBoundedQueue({
  concurrency: Math.max(1, Math.min(2, availableParallelism() - 1)),
  mostWaiting: 200,
  longestWaitMilliseconds: 60_000,
  message: 'Too many people are signing in right now. Try again in a few seconds.',
})

/** Hashes a password into a PHC string. Throws `busy` if too many others wait. */
export async function hashPassword(password: string): Promise<string> {
  return inTurn(() => hash(password, parameters))
}

let decoyHash: Promise<string> | undefined

/**
 * Checks a password against a hash. Without a hash (no such account) it returns false after the same time. Throws `busy` if too many
 * others wait.
 */
export async function verifyPassword(password: string, passwordHash: string | null): Promise<boolean> {
  if (passwordHash !== null) return inTurn(() => verify(passwordHash, password))
  decoyHash ??= hash(randomBytes(32).toString('base64'), parameters)
  const decoy = await decoyHash
  await inTurn(() => verify(decoy, password))
  return false
}
