import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { adminSettings, runAdmin } from '../support/admin.ts'
import { registerClient } from '../support/client.ts'
import { startMailServer } from '../support/mail.ts'
import type { MailServer } from '../support/mail.ts'
import type { Account } from '../support/organizations.ts'
import { registerProven } from '../support/organizations.ts'
import { insertReset } from '../support/password-resets.ts'
import { newPerson, signInAs, startSsoServer } from '../support/oidc-provider.ts'
import type { SsoServer } from '../support/oidc-provider.ts'
import { addTotp, signIn } from '../support/second-factors.ts'

/** Each command starts a process, which takes seconds on a busy machine. */
vi.setConfig({ testTimeout: 240_000 })

let mails: MailServer
let server: SsoServer
beforeAll(async () => {
  mails = await startMailServer()
  server = await startSsoServer({ worker: true, settings: { MAIL_URL: mails.url } })
})
afterAll(async () => {
  await server.close()
  await mails.stop()
})

function admin(...args: string[]) {
  return runAdmin({ ...adminSettings(server), MAIL_URL: mails.url }, args)
}

async function readUserId(account: Account): Promise<number> {
  return (await account.get('/v1/auth/session')).body.user.id
}

test('each change of the second factors is emailed, and says what to do', async () => {
  const account = await registerProven(server)
  const { recoveryCodes, code } = await addTotp(account)
  const added = await mails.waitForMail(account.email, 1)
  expect(added.subject).toBe('A second factor was added to your Berth account')
  expect(added.text).toContain(account.email)
  expect(added.text).toMatch(/If you didn’t do this/)
  expect((await signIn(server.url, account, { code: recoveryCodes[0]! })).status).toBe(200)
  const used = await mails.waitForMail(account.email, 2)
  expect(used.subject).toBe('A recovery code of your Berth account was used')
  expect(used.text).toContain('Recovery codes left: 9.')
  expect((await account.post('/v1/user/second-factors/recovery-codes', { code: code() })).status).toBe(200)
  expect((await mails.waitForMail(account.email, 3)).subject).toBe('Your Berth recovery codes were replaced')
  const { password } = account
  expect((await account.request('DELETE', '/v1/user/second-factors/totp', { password })).status).toBe(204)
  expect((await mails.waitForMail(account.email, 4)).subject).toBe(
    'A second factor was removed from your Berth account',
  )
  for (const { text } of mails.received) {
    for (const secret of recoveryCodes) expect(text).not.toContain(secret)
  }
})

test('`user reset-factors`: the sessions end, the password alone suffices, and the owner gets an email', async () => {
  const account = await registerProven(server)
  const id = String(await readUserId(account))
  await addTotp(account)
  const { code, stderr, stdout } = await admin('user', 'reset-factors', id)
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toMatch(/Reset/)
  expect((await account.get('/v1/auth/session')).status).toBe(401)
  const after = await signIn(server.url, account)
  expect(after.status).toBe(200)
  expect((await after.client.get('/v1/user/second-factors')).body).toEqual({
    totp: null,
    passkeys: [],
    recovery_codes_left: 0,
  })
  expect((await mails.waitForMail(account.email, 2)).subject).toBe(
    'The second factors of your Berth account were reset',
  )
  const log = await after.client.get('/v1/organization/audit-log?action=user.second_factors_reset')
  expect(log.body.items).toMatchObject([
    { target: { id }, details: { operator: expect.stringMatching(/@/) } },
  ])
})

test('`user reset-factors` of an account without one, or of nobody, says so', async () => {
  const account = await registerClient(server.url)
  const id = String(await readUserId(account))
  expect(await admin('user', 'reset-factors', id)).toMatchObject({
    code: 1,
    stderr: 'This account has no second factor.\n',
  })
  expect((await admin('user', 'reset-factors', '987654')).stderr).toMatch(/No user has this id/)
})

test('whoever registered another person’s address cannot lock its owner out with a second factor', async () => {
  // By password reset
  const squatted = await registerClient(server.url)
  await addTotp(squatted)
  const token = await insertReset(server, await readUserId(squatted))
  const password = 'a longer engine'
  await squatted.post('/v1/auth/password-reset/confirm', { token, password })
  expect((await signIn(server.url, { ...squatted, password })).status).toBe(200)
  // Through SSO
  const person = newPerson()
  const other = await registerClient(server.url, { email: person.email })
  await addTotp(other)
  const id = await readUserId(other)
  await signInAs(server, server.browse(), person)
  const factors = server.application.db.selectFrom('totp_factors').select('user_id')
  expect(await factors.where('user_id', '=', id).execute()).toEqual([])
})
