/** The cost of a password's argon2id hash: memory in KiB, and passes over it. */
export interface PasswordHashing {
  memoryCost: number
  timeCost: number
}

/** The minimum of the OWASP Password Storage Cheat Sheet: 19 MiB, 2 passes, 1 lane. */
export const passwordHashing: PasswordHashing = { memoryCost: 19_456, timeCost: 2 }
