import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient, registerClient } from '../../../support/client.ts'
import { insertReset } from '../../../support/password-resets.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ worker: false, settings: { PASSWORD_BLOCKLIST: 'on' } })
})
afterAll(() => server.close())

test('PASSWORD_BLOCKLIST=on: a common password is a 422 for registration, change, reset and invitees', async () => {
  const client = await registerClient(server.url)
  const { id } = (await client.get('/v1/auth/session')).body.user
  const visitor = createClient(server.url)
  for (const password of ['password1', 'PASSWORD1', 'iloveyou1', '12345678']) {
    const email = `${password}@example.com`
    const token = await insertReset(server, id)
    const change = { current_password: client.password, new_password: password }
    const answers = [
      [await visitor.post('/v1/user/register', { email, password, organization: 'Acme' }), 'password'],
      [await client.post('/v1/user/password', change), 'new_password'],
      [await visitor.post('/v1/auth/password-reset/confirm', { token, password }), 'password'],
      [await visitor.post('/v1/invitations/register', { token: 'unknown', password }), 'password'],
    ] as const
    for (const [{ status, body }, field] of answers) {
      expect(status).toBe(422)
      expect(body).toMatchObject({
        code: 'validation_failed',
        errors: [{ location: 'body', field, code: 'common_password' }],
      })
      expect(body.errors[0].message).toMatch(/one of the most common/)
    }
  }
})
