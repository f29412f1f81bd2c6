import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Provider } from 'oidc-provider'
import type { Configuration } from 'oidc-provider'
import { openBrowser } from './browser.ts'
import type { Browser } from './browser.ts'
import { listen } from './listen.ts'
import { startTestServer } from './server.ts'
import type { TestServer, TestServerOptions } from './server.ts'

/** Somebody who has an account at the provider; `sub` names them there. */
export interface Person {
  sub: string
  email?: string
  email_verified?: boolean | string
  name?: string
  given_name?: string
  family_name?: string
}

export interface TestProvider {
  issuer: string
  /** Who signs in when the provider asks next; null: they decline */
  setPerson(person: Person | null): void
  /** Answers a request instead of the provider when it returns true; null: the provider answers all */
  setFault(fault: ((request: IncomingMessage, response: ServerResponse) => boolean) | null): void
  close(): Promise<void>
}

export const client = { id: 'berth', secret: 'a client secret of some length', site: 'https://berth.test' }

export interface TestProviderOptions {
  /** The claims are in the ID token too, not at the userinfo endpoint alone */
  claimsInIdToken?: boolean
  /** The only way in which clients may show their secret */
  secretBy?: 'client_secret_basic' | 'client_secret_post'
}

/** A real OpenID Connect provider on loopback, where signing in takes no form. */
export async function startTestProvider(options: TestProviderOptions = {}): Promise<TestProvider> {
  const secretBy = options.secretBy ?? 'client_secret_basic'
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
        client_secret: client.secret,
        token_endpoint_auth_method: secretBy,
        redirect_uris: [`${client.site}/v1/sso/callback/oidc`],
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'test', use: 'sig', alg: 'RS256' }] },
    cookies: { keys: [randomBytes(16).toString('hex')] },
    claims: {
      openid: ['sub'],
      email: ['email', 'email_verified'],
      profile: ['name', 'given_name', 'family_name'],
    },
    clientAuthMethods: [secretBy],
    conformIdTokenClaims: options.claimsInIdToken !== true,
    features: { devInteractions: { enabled: false } },
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

/** A server and its identity provider. */
export async function startSsoServer(
  options: TestServerOptions & { offers?: TestProviderOptions } = {},
): Promise<SsoServer> {
  const { offers, settings, ...rest } = options
  const provider = await startTestProvider(offers)
  const server = await startTestServer({
    worker: false,
    ...rest,
    settings: {
      PUBLIC_URL: client.site,
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

/** Goes through the provider as `person`, from an address of its own, and returns the callback's address, not opened yet. */
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

/** Signs in as `person` from login to the console, and returns the callback's answer. */
export async function signInAs(server: SsoServer, browser: Browser, person: Person | null) {
  return browser.open((await authorize(server, browser, person)).href)
}

let serial = 0

/** Somebody new, with a verified address. */
export function newPerson(details: Partial<Person> = {}): Person & { email: string } {
  serial += 1
  const sub = `person-${serial}-${randomBytes(4).toString('hex')}`
  return { sub, email: `${sub}@example.com`, email_verified: true, name: 'Ada Lovelace', ...details }
}
