import { randomBytes } from 'node:crypto'

/** The token endpoints of a simulated supervisor: `POST /token` and `POST /v1/auth/refresh`. */
export interface SimulatedTokens {
  signIn(body: Record<string, unknown> | null): { status: number; body: unknown }
  refresh(body: Record<string, unknown> | null): { status: number; body: unknown }
  accepts(header: string | undefined): boolean
  /** Expires all access tokens */
  expire(): void
  /** Revokes all tokens, as a restart of the supervisor does */
  reset(): void
  counts: { signIns: number; refreshes: number }
}

/** Issues access tokens, and since version 3 refresh tokens that can be used once. */
export function createTokens(
  user: { username: string; password: string } | null,
  hasRefreshTokens: boolean,
): SimulatedTokens {
  const access = new Set<string>()
  const refreshable = new Set<string>()
  const counts = { signIns: 0, refreshes: 0 }

  function issue(): { status: number; body: unknown } {
    const payload = {
      sub: 'berth',
      exp: Math.floor(Date.now() / 1000) + 1800,
      id: randomBytes(8).toString('hex'),
    }
    const token = `e30.${Buffer.from(JSON.stringify(payload)).toString('base64url')}.c2ln`
    const refreshToken = randomBytes(16).toString('hex')
    access.add(token)
    if (!hasRefreshTokens) return { status: 200, body: { access_token: token, token_type: 'bearer' } }
    refreshable.add(refreshToken)
    const more = { refresh_token: refreshToken, must_change_password: false }
    return { status: 200, body: { access_token: token, token_type: 'bearer', ...more } }
  }

  return {
    counts,
    signIn(body) {
      counts.signIns += 1
      const isValid =
        user !== null && body?.['username'] === user.username && body['password'] === user.password
      return isValid ? issue() : { status: 401, body: { detail: 'Incorrect username or password' } }
    },
    refresh(body) {
      counts.refreshes += 1
      const token = String(body?.['refresh_token'])
      return refreshable.delete(token) ? issue() : { status: 401, body: { detail: 'Invalid refresh token' } }
    },
    accepts: (header) => user === null || access.has(header?.replace(/^Bearer /, '') ?? ''),
    expire: () => access.clear(),
    reset() {
      access.clear()
      refreshable.clear()
    },
  }
}
