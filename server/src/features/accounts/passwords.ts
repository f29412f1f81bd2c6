import { randomBytes } from 'node:crypto'
import { hash, verify } from '@node-rs/argon2'

/** argon2id with the minimum parameters of the OWASP Password Storage Cheat Sheet: 19 MiB, 2 passes, 1 lane. */
const parameters = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 }

export const passwordBytes = { min: 8, max: 72 }

/** Hashes a password into a PHC string. */
export function hashPassword(password: string): Promise<string> {
  return hash(password, parameters)
}

let decoyHash: Promise<string> | undefined

/** Checks a password against a hash. Without a hash (no such account) it returns false after the same time. */
export async function verifyPassword(password: string, passwordHash: string | null): Promise<boolean> {
  if (passwordHash !== null) return verify(passwordHash, password)
  decoyHash ??= hashPassword(randomBytes(32).toString('base64'))
  await verify(await decoyHash, password)
  return false
}
