import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient, registerClient } from '../../../support/client.ts'
import { authorize, newPerson, signInAs, startSsoServer } from '../../../support/oidc-provider.ts'
import type { Person, SsoServer } from '../../../support/oidc-provider.ts'

let server: SsoServer
beforeAll(async () => {
  server = await startSsoServer()
})
afterAll(() => server.close())

async function countAccounts(): Promise<number> {
  return (await server.application.db.selectFrom('users').select('id').execute()).length
}

async function expectRefused(person: Person, code = 'sso_email_unverified'): Promise<void> {
  const browser = server.browse()
  const answer = await signInAs(server, browser, person)
  expect(answer.location).toBe(`/sign-in?error=${code}`)
  expect(browser.cookie('berth_session')).toBeUndefined()
}

test.each([
  [{ email: undefined }],
  [{ email: '' }],
  [{ email: 'no address' }],
  [{ email: 'two@example.com,other@example.com extra' }],
  [{ email: 'nul\u0000@example.com' }],
  [{ email: `${'a'.repeat(320)}@example.com` }],
  [{ email: ['a@example.com'] }],
])('GET /v1/sso/callback/{p}: refuses a new person without an email: %j', async (claims) => {
  const accounts = await countAccounts()
  await expectRefused(newPerson(claims as never), 'sso_email_missing')
  expect(await countAccounts()).toBe(accounts)
})

test.each([false, undefined, 'false', 1])(
  'GET /v1/sso/callback/{p}: a new person with email_verified %j gets an account with an unproven address',
  async (email_verified) => {
    const person = newPerson({ email_verified })
    const browser = server.browse()
    expect((await signInAs(server, browser, person)).location).toBe('/')
    const account = await server.application.db
      .selectFrom('users')
      .select('email_verified_at')
      .where('email', '=', person.email)
      .executeTakeFirstOrThrow()
    expect(account.email_verified_at).toBeNull()
    // The owner of the address takes it: the account is not the first person's anymore.
    await expectRefused(newPerson({ email: person.email, email_verified: false }))
    expect((await signInAs(server, server.browse(), newPerson({ email: person.email }))).location).toBe('/')
    expect((await browser.open('/v1/auth/session')).status).toBe(401)
  },
)

test('GET /v1/sso/callback/{p}: never links an unverified email to the account with that email', async () => {
  const victim = await registerClient(server.url)
  const attacker = newPerson({ email: victim.email, email_verified: false })
  await expectRefused(attacker)
})

test.each(['İ', 'i'])(
  'GET /v1/sso/callback/{p}: of two emails that PostgreSQL considers equal, only the account’s own signs in: %s',
  async (letter) => {
    const address = (i: string) => `ada@g${i}thub-${letter.codePointAt(0)}.example`
    await registerClient(server.url, { email: address('i') })
    const person = newPerson({ email: address(letter) })
    if (letter === 'İ') await expectRefused(person)
    else expect((await signInAs(server, server.browse(), person)).location).toBe('/')
  },
)

test('GET /v1/sso/callback/{p}: the owner of an email claims an account that was registered with it; its password and sessions are deleted', async () => {
  const person = newPerson()
  const squatter = await registerClient(server.url, { email: person.email })
  const { email, password } = squatter
  const owner = server.browse()
  expect((await signInAs(server, owner, person)).location).toBe('/')
  expect((await squatter.get('/v1/auth/session')).status).toBe(401)
  const tried = await createClient(server.url).post('/v1/user/signin', { email, password })
  expect(tried.status).toBe(401)
  expect((await owner.open('/v1/auth/session')).body.user.email).toBe(person.email)
  expect((await signInAs(server, server.browse(), person)).location).toBe('/')
})

test('GET /v1/sso/callback/{p}: a concurrent sign-in to a claimed account leaves no session', async () => {
  for (let round = 0; round < 5; round += 1) {
    const person = newPerson()
    const { email, password } = await registerClient(server.url, { email: person.email })
    const owner = server.browse()
    const callback = await authorize(server, owner, person)
    const squatters = Array.from({ length: 10 }, () => createClient(server.url))
    const [answer] = await Promise.all([
      owner.open(callback.href),
      ...squatters.map((squatter) => squatter.post('/v1/user/signin', { email, password })),
    ])
    expect(answer.location).toBe('/')
    for (const squatter of squatters) expect((await squatter.get('/v1/auth/session')).status).toBe(401)
    expect((await owner.open('/v1/auth/session')).status).toBe(200)
  }
})

test('GET /v1/sso/callback/{p}: a disabled account cannot sign in', async () => {
  const person = newPerson()
  expect((await signInAs(server, server.browse(), person)).location).toBe('/')
  const disabled = { disabled_at: new Date() }
  await server.application.db.updateTable('users').set(disabled).where('email', '=', person.email).execute()
  const browser = server.browse()
  expect((await signInAs(server, browser, person)).location).toBe('/sign-in?error=account_disabled')
  expect(browser.cookie('berth_session')).toBeUndefined()
})
