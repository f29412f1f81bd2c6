import * as client from 'openid-client'
import { openProxyFetch } from '../../base/proxy.ts'
import type { ProxySettings } from '../../config/proxy.ts'
import { createLogoutVerifier } from './logout-token.ts'
import type { Identity, IdentityProvider } from '../../ports/identity-provider.ts'

export interface OidcSettings {
  issuerUrl: URL
  clientId: string
  clientSecret: string
  /** Space-separated */
  scopes: string
  /** Registered with the provider */
  redirectUri: string
  proxy: ProxySettings
  logger: { warn(fields: object, message: string): void }
}

const minute = 60_000
/** How long to cache the discovery document, and when to retry a failed refresh, in milliseconds */
const refreshAfter = { success: 60 * minute, failure: minute }
const requestSeconds = 10
const clockToleranceSeconds = 30

/**
 * Authorization code flow with PKCE, state and nonce. Fetches the discovery document on first use, so that
 * Berth can start while the provider is down, and every hour; keeps the old one if that fails.
 */
export function createOidcProvider(settings: OidcSettings): IdentityProvider {
  const send = openProxyFetch(settings.proxy)
  const findConfiguration = cacheConfiguration(settings, send)
  const verifyLogout = createLogoutVerifier(settings.clientId, send)
  return {
    async begin() {
      const configuration = await findConfiguration()
      return configuration && beginFlow(configuration, settings)
    },
    async complete(query, flow) {
      const configuration = await findConfiguration()
      return configuration === null
        ? { outcome: 'unavailable', detail: 'OpenID Connect discovery failed' }
        : completeFlow(configuration, new URL(`${settings.redirectUri}?${query}`), flow)
    },
    async verifyLogout(token) {
      const configuration = await findConfiguration()
      return configuration === null
        ? { outcome: 'unavailable', detail: 'OpenID Connect discovery failed' }
        : verifyLogout(configuration, token)
    },
  }
}

/** Returns a function that finds the discovered configuration; null if there has never been one. */
function cacheConfiguration(
  settings: OidcSettings,
  send: typeof fetch,
): () => Promise<client.Configuration | null> {
  let cached: { configuration: client.Configuration; refreshAt: number } | null = null
  let discovery: Promise<client.Configuration> | undefined
  return async () => {
    if (cached !== null && Date.now() < cached.refreshAt) return cached.configuration
    discovery ??= discover(settings, send).finally(() => (discovery = undefined))
    try {
      const configuration = await discovery
      cached = { configuration, refreshAt: Date.now() + refreshAfter.success }
    } catch (error) {
      settings.logger.warn({ detail: describe(error) }, 'OpenID Connect discovery failed')
      cached &&= { ...cached, refreshAt: Date.now() + refreshAfter.failure }
    }
    return cached?.configuration ?? null
  }
}

async function beginFlow(configuration: client.Configuration, { redirectUri, scopes }: OidcSettings) {
  const flow = {
    state: client.randomState(),
    nonce: client.randomNonce(),
    codeVerifier: client.randomPKCECodeVerifier(),
  }
  const url = client.buildAuthorizationUrl(configuration, {
    redirect_uri: redirectUri,
    scope: scopes,
    state: flow.state,
    nonce: flow.nonce,
    code_challenge: await client.calculatePKCECodeChallenge(flow.codeVerifier),
    code_challenge_method: 'S256',
  })
  return { url, ...flow }
}

async function completeFlow(
  configuration: client.Configuration,
  callback: URL,
  { state, nonce, codeVerifier }: Parameters<IdentityProvider['complete']>[1],
): ReturnType<IdentityProvider['complete']> {
  try {
    const tokens = await client.authorizationCodeGrant(configuration, callback, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: codeVerifier,
      idTokenExpected: true,
    })
    const claims = tokens.claims()
    if (claims === undefined || text(claims.sub) !== claims.sub) {
      return { outcome: 'failed', detail: 'the ID token has no valid subject' }
    }
    const more = await fetchMissingClaims(configuration, claims, tokens.access_token)
    const expiresAt = new Date(claims.exp * 1000)
    const sessionId = text(claims['sid'])
    return { outcome: 'identified', identity: toIdentity(claims, more), expiresAt, sessionId }
  } catch (error) {
    return { outcome: classify(error), detail: describe(error), providerError: readProviderError(error) }
  }
}

async function discover(
  { issuerUrl, clientId, clientSecret }: OidcSettings,
  send: typeof fetch,
): Promise<client.Configuration> {
  const basic = client.ClientSecretBasic(clientSecret)
  const post = client.ClientSecretPost(clientSecret)
  // Basic is the default if the provider lists no methods (OpenID Connect Discovery 1.0, section 3).
  const authenticate: client.ClientAuth = (provider, ...rest) => {
    const methods = provider.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    return (methods.includes('client_secret_basic') ? basic : post)(provider, ...rest)
  }
  // The settings allow plain http for loopback only.
  const insecure = issuerUrl.protocol === 'http:' ? [client.allowInsecureRequests] : []
  return client.discovery(
    issuerUrl,
    clientId,
    { [client.clockTolerance]: clockToleranceSeconds },
    authenticate,
    {
      [client.customFetch]: send as client.CustomFetch,
      timeout: requestSeconds,
      execute: [...insecure, client.enableNonRepudiationChecks],
    },
  )
}

type Claims = Record<string, unknown>

/** Fetches claims that are not in the ID token from the userinfo endpoint, for the same subject. */
async function fetchMissingClaims(
  configuration: client.Configuration,
  claims: { sub: string } & Claims,
  accessToken: string,
): Promise<Claims> {
  const complete = hasEmail(claims) && claims.name !== undefined
  if (complete || configuration.serverMetadata().userinfo_endpoint === undefined) return {}
  return client.fetchUserInfo(configuration, accessToken, claims.sub)
}

function hasEmail(claims: Claims): boolean {
  return claims.email !== undefined && claims.email_verified !== undefined
}

function toIdentity(claims: { iss: string; sub: string } & Claims, more: Claims): Identity {
  // `email` and `email_verified` must come from the same source.
  const emailClaims = hasEmail(claims) ? claims : more
  const email = text(emailClaims.email, 320)
  return {
    issuer: claims.iss,
    subject: claims.sub,
    email: email !== null && email.length >= 3 && /^[^\s@]+@[^\s@]+$/.test(email) ? email : null,
    // Some providers send a string instead of a boolean.
    emailVerified: emailClaims.email_verified === true || emailClaims.email_verified === 'true',
    name: text(claims.name ?? more.name),
    firstName: text(claims.given_name ?? more.given_name),
    lastName: text(claims.family_name ?? more.family_name),
  }
}

/** Returns a claim as a single trimmed line of at most `max` characters, or null if it is not one. */
function text(claim: unknown, max = 255): string | null {
  if (typeof claim !== 'string' || !claim.isWellFormed() || /\p{Cc}/u.test(claim)) return null
  const trimmed = claim.trim()
  return trimmed === '' || trimmed.length > max ? null : trimmed
}

function classify(error: unknown): 'denied' | 'failed' | 'unavailable' {
  if (error instanceof client.AuthorizationResponseError) {
    if (error.error === 'access_denied') return 'denied'
    return ['temporarily_unavailable', 'server_error'].includes(error.error) ? 'unavailable' : 'failed'
  }
  if (error instanceof client.ResponseBodyError) return error.status >= 500 ? 'unavailable' : 'failed'
  if (error instanceof client.ClientError) {
    const { cause } = error
    const status = cause instanceof Object && 'status' in cause ? Number(cause.status) : 0
    return error.code === 'OAUTH_TIMEOUT' || status >= 500 ? 'unavailable' : 'failed'
  }
  return error instanceof TypeError && error.cause !== undefined ? 'unavailable' : 'failed'
}

/** Reads the provider's error from its redirect, a response body or `WWW-Authenticate`; undefined if none. */
function readProviderError(
  error: unknown,
): { error: string | null; error_description: string | null } | undefined {
  if (error instanceof client.AuthorizationResponseError || error instanceof client.ResponseBodyError) {
    return { error: line(error.error), error_description: line(error.error_description) }
  }
  if (error instanceof client.WWWAuthenticateChallengeError) {
    const { parameters } = error.cause[0] ?? {}
    return { error: line(parameters?.error), error_description: line(parameters?.error_description) }
  }
  return undefined
}

/** A text of the provider as a single line of at most 500 characters for the log. */
function line(value: unknown): string | null {
  return typeof value === 'string' ? value.replaceAll(/\p{Cc}+/gu, ' ').slice(0, 500) : null
}

/** Describes an error for the log without its `cause`, which may contain codes and claims. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  const code = 'code' in error && typeof error.code === 'string' ? ` (${error.code})` : ''
  return `${error.name}: ${error.message}${code}`
}
