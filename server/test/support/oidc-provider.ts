import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { SignJWT } from 'jose'
import { Provider } from 'oidc-provider'
import type { Configuration } from 'oidc-provider'
import { openBrowser } from './browser.ts'
import type { Browser } from './browser.ts'
import { listen } from './listen.ts'
import { startTestServer } from './server.ts'
import type { TestServer, TestServerOptions } from './server.ts'

/** A person with an account at the provider. `sub` identifies them. */
export interface Person {
  sub: string
  email?: string | undefined
  email_verified?: unknown
  name?: string
  given_name?: string
  family_name?: string
  [claim: string]: unknown
}

export interface TokenClaims {
  iss?: string
  aud?: string
  iat?: number
  exp?: number
  [claim: string]: unknown
}

export interface TestProvider {
  issuer: string
  /** Sets the person who signs in next; null to decline. */
  setPerson(person: Person | null): void
  /** Sets a handler that may respond instead of the provider by returning true; null to remove it. */
  setFault(fault: ((request: IncomingMessage, response: ServerResponse) => boolean) | null): void
  /** Signs a token like the provider, with these claims in addition to those of every token. */
  signToken(claims: TokenClaims): Promise<string>
  close(): Promise<void>
}

export const client = { id: 'berth', secret: 'a client secret of some length', site: 'https://berth.test' }

export interface TestProviderOptions {
  /** Adds the claims to the ID token as well as the userinfo endpoint */
  claimsInIdToken?: boolean
  /** Whether the provider has a page to sign out at */
  endsSessions?: boolean
  /** Claims of the provider beside the usual ones */
  moreClaims?: string[]
  /** The only supported method of client authentication */
  authMethod?: 'client_secret_basic' | 'client_secret_post'
  clientSecret?: string
  /** Where browsers reach Berth */
  site?: string
}

/** Starts a real OpenID Connect provider on loopback that signs people in without a form. */
export async function startTestProvider(options: TestProviderOptions = {}): Promise<TestProvider> {
  const authMethod = options.authMethod ?? 'client_secret_basic'
  const server = createServer()
  const issuer = `http://127.0.0.1:${await listen(server)}`
  const people = new Map<string, Person>()
  let person: Person | null = null
  let fault: ((request: IncomingMessage, response: ServerResponse) => boolean) | null = null
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const configuration: Configuration = {
    clients: [
      {
        client_id: client.id,
        client_secret: options.clientSecret ?? client.secret,
        token_endpoint_auth_method: authMethod,
        backchannel_logout_uri: `${options.site ?? client.site}/v1/sso/backchannel-logout/oidc`,
        backchannel_logout_session_required: true,
        redirect_uris: [`${options.site ?? client.site}/v1/sso/callback/oidc`],
        post_logout_redirect_uris: [`${options.site ?? client.site}/v1/sso/callback/oidc`],
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'test', use: 'sig', alg: 'RS256' }] },
    cookies: { keys: [randomBytes(16).toString('hex')] },
    claims: {
      openid: ['sub'],
      email: ['email', 'email_verified'],
      profile: ['name', 'given_name', 'family_name', ...(options.moreClaims ?? [])],
    },
    clientAuthMethods: [authMethod],
    conformIdTokenClaims: options.claimsInIdToken !== true,
    discovery: { prompt_values_supported: ['none', 'login', 'consent'] },
    features: {
      backchannelLogout: { enabled: true },
      devInteractions: { enabled: false },
      rpInitiatedLogout: {
        enabled: options.endsSessions !== false,
        // The library's own page loads a font from the internet.
        logoutSource: (context, form) => {
          context.body = `<!doctype html><title>Sign out</title>${form}<button form="op.logoutForm" name="logout" value="yes">Yes, sign me out</button>`
        },
      },
    },
    interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
    findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ ...people.get(sub), sub }) }),
    ttl: { Interaction: 600, Session: 600, Grant: 600, AccessToken: 600, IdToken: 600 },
    async loadExistingGrant({ oidc }) {
      const grant = new oidc.provider.Grant({
        clientId: oidc.client!.clientId,
        accountId: oidc.session!.accountId!,
      })
      grant.addOIDCScope('openid email profile')
      await grant.save()
      return grant
    },
  }
  const provider = new Provider(issuer, configuration)
  const handle = provider.callback()

  async function answerInteraction(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const result =
      person === null
        ? { error: 'access_denied', error_description: 'TEXT OF THE PROVIDER' }
        : { login: { accountId: person.sub } }
    await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false })
  }

  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (fault?.(request, response) === true) return
    if (request.url?.startsWith('/interaction/') === true) void answerInteraction(request, response)
    else void handle(request, response)
  })

  return {
    issuer,
    setPerson(next) {
      person = next
      if (next !== null) people.set(next.sub, next)
    },
    setFault(next) {
      fault = next
    },
    signToken(claims) {
      return new SignJWT({ jti: randomBytes(8).toString('hex'), ...claims })
        .setProtectedHeader({ alg: 'RS256', kid: 'test', typ: 'logout+jwt' })
        .setIssuer(claims.iss ?? issuer)
        .setAudience(claims.aud ?? client.id)
        .setIssuedAt(claims.iat)
        .setExpirationTime(claims.exp ?? '2 minutes')
        .sign(privateKey)
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export interface SsoServer extends TestServer {
  provider: TestProvider
  browse(): Browser
}

/** Starts a server with an identity provider. */
export async function startSsoServer(
  options: TestServerOptions & { providerOptions?: TestProviderOptions } = {},
): Promise<SsoServer> {
  const { providerOptions, settings, ...rest } = options
  const provider = await startTestProvider(providerOptions)
  const server = await startTestServer({
    worker: false,
    ...rest,
    settings: {
      PUBLIC_URL: client.site,
      SESSION_COOKIE_NAME: 'berth_session',
      OIDC_ISSUER_URL: provider.issuer,
      OIDC_CLIENT_ID: client.id,
      OIDC_CLIENT_SECRET: client.secret,
      ...settings,
    },
  })
  return {
    ...server,
    provider,
    browse: () => openBrowser(server.url, client.site),
    async close() {
      await server.close()
      await provider.close()
    },
  }
}

/** Signs in at the provider as `person` and returns the callback URL without opening it. */
export async function authorize(
  { provider }: SsoServer,
  browser: Browser,
  person: Person | null,
  authorizationUrl?: string,
): Promise<URL> {
  provider.setPerson(person)
  const from = authorizationUrl ?? (await browser.open('/v1/sso/login/oidc')).location
  return new URL(await browser.followTo(`${client.site}/v1/sso/callback/`, from))
}

/** Signs in as `person`, from login to callback, and returns the response of the callback. */
export async function signInAs(server: SsoServer, browser: Browser, person: Person | null) {
  return browser.open((await authorize(server, browser, person)).href)
}

let serial = 0

/** A new person with a verified email. */
export function newPerson(details: Partial<Person> & { email?: string } = {}): Person & { email: string } {
  serial += 1
  const sub = `person-${serial}-${randomBytes(4).toString('hex')}`
  return { sub, email: `${sub}@example.com`, email_verified: true, name: 'Ada Lovelace', ...details }
}
