import { randomBytes } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'

const period = 30

/** 160 random bits, as RFC 4226 recommends. */
export function generateTotpSecret(): Buffer {
  return randomBytes(20)
}

/** The secret as an authenticator app takes it: as text in base32, and as the URI of a QR code. */
export function describeTotp(secret: Buffer, account: { issuer: string; label: string }) {
  const totp = new TOTP({ ...account, secret: toSecret(secret), period })
  return { secret: totp.secret.base32, uri: totp.toString() }
}

/** The time step of a code, or null. Accepts one step more or less, for slow typing and clocks (RFC 6238). */
export function findTotpStep(secret: Buffer, code: string, now: Date): number | null {
  if (!/^\d{6}$/.test(code)) return null
  const timestamp = now.getTime()
  const delta = new TOTP({ secret: toSecret(secret), period }).validate({ token: code, timestamp, window: 1 })
  return delta === null ? null : TOTP.counter({ period, timestamp }) + delta
}

/** When a time step began. */
export function toStepTime(step: number): Date {
  return new Date(step * period * 1000)
}

function toSecret(secret: Buffer): Secret {
  return new Secret({ buffer: Uint8Array.from(secret).buffer })
}
