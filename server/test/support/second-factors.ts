import { URI } from 'otpauth'
import type { TOTP } from 'otpauth'
import { createClient } from './client.ts'
import type { Answer, Client } from './client.ts'
import type { Account } from './organizations.ts'

/** A person's authenticator app. */
export interface AuthenticatorApp {
  /** The code of the current step, or of a step before or after it */
  code: (steps?: number) => string
}

/** Takes the first step of the setup. `now` is the clock of the server. */
export async function startTotp(account: Account, now = () => new Date()): Promise<AuthenticatorApp> {
  const { password } = account
  const answer = await account.post('/v1/user/second-factors/totp', { password })
  if (answer.status !== 200) throw new Error(`the setup returned ${JSON.stringify(answer.body)}`)
  return openApp(answer.body.uri, now)
}

/** An app that has scanned the QR code with this URI. */
export function openApp(uri: string, now = () => new Date()): AuthenticatorApp {
  const totp = URI.parse(uri) as TOTP
  return { code: (steps = 0) => totp.generate({ timestamp: now().getTime() + steps * 30_000 }) }
}

/**
 * Adds an authenticator app to an account. The code before the current one confirms it, so that the current
 * one is left for a sign-in.
 */
export async function addTotp(
  account: Account,
  now = () => new Date(),
): Promise<AuthenticatorApp & { recoveryCodes: string[] }> {
  const app = await startTotp(account, now)
  const answer = await account.post('/v1/user/second-factors/totp/verify', { code: app.code(-1) })
  if (answer.status !== 200) throw new Error(`the confirmation returned ${JSON.stringify(answer.body)}`)
  return { ...app, recoveryCodes: answer.body.recovery_codes }
}

/** Signs in from a new client, optionally with a code or from an address. */
export async function signIn(
  url: string,
  { email, password }: Pick<Account, 'email' | 'password'>,
  { code, address }: { code?: string | undefined; address?: string } = {},
): Promise<Answer & { client: Client }> {
  const client = createClient(url)
  const headers = address === undefined ? {} : { 'x-forwarded-for': address }
  return { ...(await client.request('POST', '/v1/user/signin', { email, password, code }, headers)), client }
}
