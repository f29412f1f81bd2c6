import { createRemoteJWKSet, customFetch, errors, jwtVerify } from 'jose'
import type { Configuration } from 'openid-client'
import type { LogoutResult } from '../../ports/identity-provider.ts'

const event = 'http://schemas.openid.net/event/backchannel-logout'
const requestMilliseconds = 10_000
const clockToleranceSeconds = 30
/** A token reports something that just happened. An older one is a replay that would end later sessions. */
const maxAgeSeconds = 120

type KeySet = ReturnType<typeof createRemoteJWKSet>

/** Returns a verifier of logout tokens (OpenID Connect Back-Channel Logout 1.0, 2.6) that caches the keys. */
export function createLogoutVerifier(clientId: string, send: typeof fetch) {
  const keySets = new WeakMap<Configuration, KeySet>()
  return async (configuration: Configuration, token: string): Promise<LogoutResult> => {
    const { issuer, jwks_uri: keysUrl } = configuration.serverMetadata()
    if (keysUrl === undefined) return { outcome: 'invalid', detail: 'the provider publishes no keys' }
    const keys =
      keySets.get(configuration) ??
      createRemoteJWKSet(new URL(keysUrl), { [customFetch]: send, timeoutDuration: requestMilliseconds })
    keySets.set(configuration, keys)
    return verify(keys, { issuer, clientId }, token)
  }
}

async function verify(
  keys: KeySet,
  { issuer, clientId }: { issuer: string; clientId: string },
  token: string,
): Promise<LogoutResult> {
  try {
    const { payload } = await jwtVerify(token, keys, {
      issuer,
      audience: clientId,
      requiredClaims: ['iat', 'jti', 'events'],
      maxTokenAge: maxAgeSeconds,
      clockTolerance: clockToleranceSeconds,
    })
    return readClaims(issuer, payload)
  } catch (error) {
    const isOurs = error instanceof errors.JOSEError && !(error instanceof errors.JWKSTimeout)
    const detail = error instanceof Error ? `${error.name}: ${error.message}` : 'unknown'
    return { outcome: isOurs && error.code !== 'ERR_JOSE_GENERIC' ? 'invalid' : 'unavailable', detail }
  }
}

function readClaims(issuer: string, claims: Record<string, unknown>): LogoutResult {
  const { events, nonce, sub, sid } = claims
  const isLogout = typeof events === 'object' && events !== null && event in events
  // An ID token has a nonce: it must not work as a logout token.
  if (!isLogout || nonce !== undefined) return { outcome: 'invalid', detail: 'not a logout token' }
  const subject = typeof sub === 'string' ? sub : null
  const sessionId = typeof sid === 'string' ? sid : null
  if (subject === null && sessionId === null) return { outcome: 'invalid', detail: 'no sub and no sid' }
  return { outcome: 'verified', issuer, subject, sessionId }
}
