import * as client from 'openid-client'
import type { Identity, IdentityProvider } from '../../ports/identity-provider.ts'

export interface OidcSettings {
  issuerUrl: URL
  clientId: string
  clientSecret: string
  /** Divided by spaces */
  scopes: string
  /** Where the provider sends browsers back to; registered there */
  redirectUri: string
  logger: { warn(fields: object, message: string): void }
}

const minute = 60_000
/** How long a discovery document is good, and after how long a failed refresh is tried again */
const refreshAfter = { found: 60 * minute, failed: minute }
const requestSeconds = 10
const clockToleranceSeconds = 30

/**
 * An OpenID Connect provider: the authorization code flow with PKCE, state and nonce. Its discovery document is read when it is
 * first needed, so that Berth starts while the provider is down, and again every hour; an old one stays in use meanwhile.
 */
export function createOidcProvider(settings: OidcSettings): IdentityProvider {
  const { redirectUri, scopes, logger } = settings
  let known: { configuration: client.Configuration; refreshAt: number } | undefined
  let discovery: Promise<client.Configuration> | undefined

  async function findConfiguration(): Promise<client.Configuration> {
    if (known !== undefined && Date.now() < known.refreshAt) return known.configuration
    discovery ??= discover(settings).finally(() => (discovery = undefined))
    try {
      const configuration = await discovery
      known = { configuration, refreshAt: Date.now() + refreshAfter.found }
    } catch (error) {
      logger.warn({ detail: describe(error) }, 'the identity provider could not be discovered')
      if (known === undefined) throw error
      known = { ...known, refreshAt: Date.now() + refreshAfter.failed }
    }
    return known.configuration
  }

  return {
    async begin() {
      const configuration = await findConfiguration().catch(() => null)
      if (configuration === null) return null
      const remembered = {
        state: client.randomState(),
        nonce: client.randomNonce(),
        codeVerifier: client.randomPKCECodeVerifier(),
      }
      const url = client.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: scopes,
        state: remembered.state,
        nonce: remembered.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(remembered.codeVerifier),
        code_challenge_method: 'S256',
      })
      return { url, ...remembered }
    },

    async complete(query, { state, nonce, codeVerifier }) {
      const configuration = await findConfiguration().catch(() => null)
      if (configuration === null) return { outcome: 'unavailable', detail: 'it could not be discovered' }
      try {
        const tokens = await client.authorizationCodeGrant(
          configuration,
          new URL(`${redirectUri}?${query}`),
          {
            expectedState: state,
            expectedNonce: nonce,
            pkceCodeVerifier: codeVerifier,
            idTokenExpected: true,
          },
        )
        const claims = tokens.claims()
        if (claims === undefined || text(claims.sub) !== claims.sub) {
          return { outcome: 'failed', detail: 'the subject is not usable' }
        }
        const more = await fetchMissingClaims(configuration, claims, tokens.access_token)
        return { outcome: 'identified', identity: toIdentity(claims, more) }
      } catch (error) {
        return { outcome: classify(error), detail: describe(error) }
      }
    },
  }
}

async function discover({ issuerUrl, clientId, clientSecret }: OidcSettings): Promise<client.Configuration> {
  const basic = client.ClientSecretBasic(clientSecret)
  const post = client.ClientSecretPost(clientSecret)
  // A provider that lists no methods knows Basic (OpenID Connect Discovery 1.0, section 3).
  const authenticate: client.ClientAuth = (provider, ...rest) => {
    const methods = provider.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    return (methods.includes('client_secret_basic') ? basic : post)(provider, ...rest)
  }
  // Plain http is let through for loopback alone, by the settings.
  const insecure = issuerUrl.protocol === 'http:' ? [client.allowInsecureRequests] : []
  return client.discovery(
    issuerUrl,
    clientId,
    { [client.clockTolerance]: clockToleranceSeconds },
    authenticate,
    { timeout: requestSeconds, execute: [...insecure, client.enableNonRepudiationChecks] },
  )
}

type Claims = Record<string, unknown>

/** Many providers keep the scopes' claims out of the ID token; then the userinfo endpoint has them, for the same subject. */
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
  // An address and the word that it is verified must come from one place.
  const mail = hasEmail(claims) ? claims : more
  const email = text(mail.email, 320)
  return {
    issuer: claims.iss,
    subject: claims.sub,
    email: email !== null && email.length >= 3 && /^[^\s@]+@[^\s@]+$/.test(email) ? email : null,
    // Some providers send the word instead of the boolean.
    emailVerified: mail.email_verified === true || mail.email_verified === 'true',
    name: text(claims.name ?? more.name),
    firstName: text(claims.given_name ?? more.given_name),
    lastName: text(claims.family_name ?? more.family_name),
  }
}

/** A claim as one clean line of at most `max` characters, or null. */
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
    const serverFailed = error.cause instanceof Response && error.cause.status >= 500
    return error.code === 'OAUTH_TIMEOUT' || serverFailed ? 'unavailable' : 'failed'
  }
  return error instanceof TypeError && error.cause !== undefined ? 'unavailable' : 'failed'
}

/** The library's own words; a provider's are left out, and so are causes, which hold codes and claims. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  const code = 'code' in error && typeof error.code === 'string' ? ` (${error.code})` : ''
  return `${error.name}: ${error.message}${code}`
}
