import { randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { hash, verify } from '@node-rs/argon2'
import { createBoundedQueue } from '../../base/bounded-queue.ts'
import type { PasswordHashing } from '../../config/password-hashing.ts'

const argon2id = { algorithm: 2, parallelism: 1 }

export const passwordBytes = { min: 8, max: 72 }

/**
 * argon2 runs on libuv's pool of four threads, which files, DNS and gzip share. At most two hashes at a time
 * leave the others free, and a core for the event loop. 200 waiting hashes are about five seconds of work.
 */
const inTurn = createBoundedQueue({
  concurrency: Math.max(1, Math.min(2, availableParallelism() - 1)),
  mostWaiting: 200,
  longestWaitMilliseconds: 60_000,
  message: 'Too many people are signing in right now. Try again in a few seconds.',
})

/** Hashes a password into a PHC string. Throws `server_busy` if too many others wait. */
export async function hashPassword(cost: PasswordHashing, password: string): Promise<string> {
  return inTurn(() => hash(password, { ...argon2id, ...cost }))
}

/** Checks a password against a hash. Throws `server_busy` if too many others wait. */
export async function verifyPassword(password: string, passwordHash: string): Promise<boolean> {
  return inTurn(() => verify(passwordHash, password))
}

const decoys = new WeakMap<PasswordHashing, Promise<string>>()

/** Takes the time of a check where no hash exists. Throws `server_busy` if too many others wait. */
export async function rejectPassword(cost: PasswordHashing, password: string): Promise<false> {
  const decoy = decoys.get(cost) ?? hash(randomBytes(32).toString('base64'), { ...argon2id, ...cost })
  decoys.set(cost, decoy)
  await verifyPassword(password, await decoy)
  return false
}
