import * as client from 'openid-client'
import { openProxyFetch } from '../../base/proxy.ts'
import type { ProxySettings } from '../../config/proxy.ts'
import type { EmailVerified } from '../../config/sso.ts'
import { createLogoutVerifier } from './logout-token.ts'
import type { Identity, IdentityProvider } from '../../ports/identity-provider.ts'

export interface OidcSettings {
  issuerUrl: URL
  clientId: string
  clientSecret: string
  /** Space-separated */
  scopes: string
  emailClaims: readonly string[]
  emailVerified: EmailVerified
  groupsClaim: string | null
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
    async begin({ asks }) {
      const configuration = await findConfiguration()
      return configuration && beginFlow(configuration, settings, asks)
    },
    async complete(query, flow) {
      const configuration = await findConfiguration()
      return configuration === null
        ? { outcome: 'unavailable', detail: 'OpenID Connect discovery failed' }
        : completeFlow(configuration, settings, query, flow)
    },
    async endSession(idToken) {
      const configuration = await findConfiguration()
      if (configuration?.serverMetadata().end_session_endpoint === undefined) return null
      return client.buildEndSessionUrl(configuration, {
        id_token_hint: idToken,
        post_logout_redirect_uri: settings.redirectUri,
      })
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

async function beginFlow(
  configuration: client.Configuration,
  { redirectUri, scopes }: OidcSettings,
  asks: boolean,
) {
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
    ...(asks && { prompt: choosePrompt(configuration) }),
  })
  return { url, ...flow }
}

/** A provider that lists its prompts (OpenID Connect Prompt Create 1.0) refuses others. */
function choosePrompt(configuration: client.Configuration): string {
  const supported = configuration.serverMetadata()['prompt_values_supported']
  return Array.isArray(supported) && !supported.includes('select_account') ? 'login' : 'select_account'
}

async function completeFlow(
  configuration: client.Configuration,
  settings: OidcSettings,
  query: string,
  { state, nonce, codeVerifier }: Parameters<IdentityProvider['complete']>[1],
): ReturnType<IdentityProvider['complete']> {
  try {
    const callback = new URL(`${settings.redirectUri}?${query}`)
    const tokens = await client.authorizationCodeGrant(configuration, callback, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: codeVerifier,
      idTokenExpected: true,
    })
    const claims = tokens.claims()
    if (claims === undefined || tokens.id_token === undefined || text(claims.sub) !== claims.sub) {
      return { outcome: 'failed', detail: 'the ID token has no valid subject' }
    }
    const more = await fetchMissingClaims(configuration, settings, claims, tokens.access_token)
    return {
      outcome: 'identified',
      identity: toIdentity(settings, claims, more),
      claims: [...new Set([...Object.keys(claims), ...Object.keys(more)])],
      idToken: tokens.id_token,
      expiresAt: new Date(claims.exp * 1000),
      sessionId: text(claims['sid']),
    }
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
  settings: OidcSettings,
  claims: { sub: string } & Claims,
  accessToken: string,
): Promise<Claims> {
  const hasEmail =
    settings.emailVerified === 'trusted'
      ? findEmail(settings, [claims]) !== null
      : saysWhetherVerified(claims)
  const hasGroups = settings.groupsClaim === null || readGroups(settings.groupsClaim, claims) !== undefined
  const complete = hasEmail && hasGroups && claims.name !== undefined
  if (complete || configuration.serverMetadata().userinfo_endpoint === undefined) return {}
  return client.fetchUserInfo(configuration, accessToken, claims.sub)
}

/** Finds the first claim of the settings with an address, and which of the sources has it. */
function findEmail(
  { emailClaims }: Pick<OidcSettings, 'emailClaims'>,
  sources: readonly Claims[],
): { email: string; claim: string; source: Claims } | null {
  for (const claim of emailClaims) {
    for (const source of sources) {
      const email = text(source[claim], 320)
      if (email !== null && email.length >= 3 && /^[^\s@]+@[^\s@]+$/.test(email))
        return { email, claim, source }
    }
  }
  return null
}

/** True if the claims say whether the person owns `email`. */
function saysWhetherVerified({ email, email_verified, xms_edov }: Claims): boolean {
  return email !== undefined && (email_verified ?? xms_edov) !== undefined
}

/**
 * True if the provider says that the person owns `email`. Some send a string instead of a boolean. Microsoft
 * Entra sends `xms_edov` in place of `email_verified`, as true or 1.
 */
function saysVerified({ email_verified, xms_edov }: Claims): boolean {
  if (email_verified === undefined)
    return xms_edov === true || xms_edov === 1 || xms_edov === '1' || xms_edov === 'true'
  return email_verified === true || email_verified === 'true'
}

function toIdentity(
  settings: OidcSettings,
  claims: { iss: string; sub: string } & Claims,
  more: Claims,
): Identity {
  const sources = saysWhetherVerified(claims) ? [claims, more] : [more, claims]
  const found = findEmail(settings, sources)
  return {
    issuer: claims.iss,
    subject: claims.sub,
    email: found?.email ?? null,
    // What verifies an address stands beside it, and is about no other claim.
    emailVerified:
      found !== null &&
      (settings.emailVerified === 'trusted' || (found.claim === 'email' && saysVerified(found.source))),
    name: text(claims.name ?? more.name),
    firstName: text(claims.given_name ?? more.given_name),
    lastName: text(claims.family_name ?? more.family_name),
    groups: findGroups(settings, [claims, more]),
  }
}

/** A missing claim means no group: providers leave it out then. */
function findGroups({ groupsClaim }: OidcSettings, sources: readonly Claims[]): string[] | null {
  if (groupsClaim === null) return null
  const [groups = []] = sources
    .map((claims) => readGroups(groupsClaim, claims))
    .filter((found) => found !== undefined)
  return groups
}

/**
 * The groups of one source: undefined if it has none, null if the provider only says where they are, because
 * they are too many (`_claim_names`: OpenID Connect Core 1.0, section 5.6.2).
 */
function readGroups(claim: string, claims: Claims): string[] | null | undefined {
  const value = claims[claim]
  if (value !== undefined) return [value].flat().filter((group) => typeof group === 'string')
  const elsewhere = claims['_claim_names']
  const isElsewhere = typeof elsewhere === 'object' && elsewhere !== null && claim in elsewhere
  return isElsewhere || claims['hasgroups'] === true ? null : undefined
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
