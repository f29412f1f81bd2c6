import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { registerClient } from '../../../support/client.ts'
import { newPerson, signInAs, startSsoServer } from '../../../support/oidc-provider.ts'
import type { Person, SsoServer } from '../../../support/oidc-provider.ts'

/**
 * What providers say of a person, besides the standard claims of each token. Sources: "ID token claims
 * reference" and "Optional claims" of Microsoft Entra, "OpenID Connect" of Google Identity, "OpenID Connect &
 * OAuth 2.0 API" of Okta, the client scopes `email` and `profile` of Keycloak, and the scope mappings of
 * authentik, which says `email_verified: false` since 2025.10.
 */
const claimSets = {
  entra: ({ email, ...person }: Person) => ({
    ...person,
    preferred_username: email,
    oid: '00000000-0000-0000-66f3-3332eca7ea81',
    tid: '9122040d-6c67-4c5b-b112-36a304b66dad',
    email_verified: undefined,
  }),
  entraWithEmail: (person: Person) => ({ ...person, email_verified: undefined }),
  entraWithVerifiedDomain: (person: Person) => ({ ...person, email_verified: undefined, xms_edov: true }),
  google: (person: Person) => ({ ...person, email_verified: true, hd: 'example.com', locale: 'en' }),
  okta: (person: Person) => ({ ...person, preferred_username: person.email, zoneinfo: 'Europe/Berlin' }),
  keycloak: (person: Person) => ({ ...person, preferred_username: 'ada', email_verified: true }),
  authentik: (person: Person) => ({ ...person, nickname: 'ada', groups: ['x'], email_verified: false }),
} satisfies Record<string, (person: Person) => Person>

type Provider = keyof typeof claimSets
const moreClaims = ['preferred_username', 'upn', 'oid', 'tid', 'xms_edov', 'hd', 'nickname', 'groups']

function start(settings: Record<string, string>, claimsInIdToken = true): Promise<SsoServer> {
  return startSsoServer({ settings, providerOptions: { claimsInIdToken, moreClaims } })
}

async function signIn(server: SsoServer, provider: Provider, person: Person) {
  const browser = server.browse()
  return { browser, location: (await signInAs(server, browser, claimSets[provider](person))).location }
}

/** Signs a new person in, and another one whose address has an account already. Returns where each ended. */
async function tryBoth(server: SsoServer, provider: Provider) {
  const fresh = newPerson()
  const known = newPerson()
  await registerClient(server.url, { email: known.email })
  const first = await signIn(server, provider, fresh)
  const account = await server.application.db
    .selectFrom('users')
    .select('email_verified_at')
    .where('email', '=', fresh.email)
    .executeTakeFirst()
  return {
    fresh:
      first.location === '/' ? (account?.email_verified_at == null ? 'unproven' : 'proven') : first.location,
    known: (await signIn(server, provider, known)).location,
  }
}

const missing = '/sign-in?error=sso_email_missing'
const unverified = '/sign-in?error=sso_email_unverified'

describe.each([true, false])('claims in the ID token: %s', (claimsInIdToken) => {
  let strict: SsoServer
  let trusting: SsoServer
  beforeAll(async () => {
    strict = await start({}, claimsInIdToken)
    trusting = await start(
      { OIDC_EMAIL_CLAIM: 'email, preferred_username,upn', OIDC_EMAIL_VERIFIED: 'trusted' },
      claimsInIdToken,
    )
  })
  afterAll(() => Promise.all([strict.close(), trusting.close()]))

  test.each<[Provider, { fresh: string; known: string }]>([
    ['entra', { fresh: missing, known: missing }],
    ['entraWithEmail', { fresh: 'unproven', known: unverified }],
    ['entraWithVerifiedDomain', { fresh: 'proven', known: '/' }],
    ['google', { fresh: 'proven', known: '/' }],
    ['okta', { fresh: 'proven', known: '/' }],
    ['keycloak', { fresh: 'proven', known: '/' }],
    ['authentik', { fresh: 'unproven', known: unverified }],
  ])('without a setting, an address of %s counts as it says', async (provider, expected) => {
    expect(await tryBoth(strict, provider)).toEqual(expected)
  })

  test.each(Object.keys(claimSets) as Provider[])(
    'a trusted provider proves each address: %s',
    async (provider) => {
      expect(await tryBoth(trusting, provider)).toEqual({ fresh: 'proven', known: '/' })
    },
  )

  test('the first claim with an address counts', async () => {
    const person = newPerson({ email_verified: false, upn: 'third@example.com' })
    const named = { ...person, preferred_username: 'second@example.com' }
    for (const [claims, email] of [
      [named, person.email],
      [{ ...named, email: undefined }, 'second@example.com'],
      [{ ...named, email: 'no address', preferred_username: 'ada' }, 'third@example.com'],
    ] as const) {
      const browser = trusting.browse()
      await signInAs(trusting, browser, { ...claims, sub: `${person.sub}-${email}` })
      const session = await browser.open('/v1/auth/session')
      expect(session.body).toMatchObject({ user: { email } })
    }
  })
})

test('an address of another claim than email is proven by no claim', async () => {
  const server = await start({ OIDC_EMAIL_CLAIM: 'email,preferred_username' })
  try {
    const owner = await registerClient(server.url)
    const squatter = { ...newPerson(), email: undefined, preferred_username: owner.email, xms_edov: true }
    expect((await signInAs(server, server.browse(), squatter)).location).toBe(unverified)
  } finally {
    await server.close()
  }
})
