import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { hashToken } from '../../src/base/hash-token.ts'
import { signInIdentity } from '../../src/features/sso/sign-in-identity.ts'
import type { Identity } from '../../src/ports/identity-provider.ts'
import { serverActor } from '../../src/base/viewer.ts'
import { createClient, registerClient } from '../support/client.ts'
import type { Answer, Client } from '../support/client.ts'
import { invite, readInvitationToken } from '../support/organizations.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const rounds = 10

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ worker: false })
})
afterAll(() => server.close())

let owner: Client
let guest: Client & { email: string }
beforeEach(async () => {
  owner = await registerClient(server.url, { organization: 'Engines' })
  guest = await registerClient(server.url, { organization: 'Guests' })
})

const accept = (client: Client, token: string) => client.post(`/v1/invitations/by-token/${token}/accept`)
const reject = (client: Client, token: string) => client.post(`/v1/invitations/by-token/${token}/reject`)
const register = (token: string) =>
  createClient(server.url).post('/v1/invitations/register', { token, password: 'correct horse battery' })

/** Counts responses by status and code, e.g. `{ '200': 1, '409 invitation_answered': 99 }`. */
function count(answers: Answer[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { status, body } of answers) {
    const key = status === 200 ? '200' : `${status} ${body.code}`
    counts[key] = (counts[key] ?? 0) + 1
  }
  return counts
}

async function readStatus(): Promise<string> {
  return (await owner.get('/v1/organization/invitations')).body[0].status
}

async function listRoles(): Promise<string[]> {
  return (await owner.get('/v1/organization/members')).body.map(({ role }: { role: string }) => role)
}

test('POST …/accept: of 100 concurrent requests, one is a 200 and 99 are a 409, with one membership', async () => {
  const { token } = await invite(server, owner, { email: guest.email })
  const answers = await Promise.all(Array.from({ length: 100 }, () => accept(guest, token)))
  expect(count(answers)).toEqual({ '200': 1, '409 invitation_answered': 99 })
  expect(await listRoles()).toEqual(['super_admin', 'member'])
  expect(await readStatus()).toBe('accepted')
})

test('POST …/accept racing POST …/reject: one wins, and its answer is stored', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const inviter = await registerClient(server.url)
    const { invitation, token } = await invite(server, inviter, { email: guest.email })
    const answers = await Promise.all([
      ...(round % 2 === 0 ? [accept(guest, token), reject(guest, token)] : []),
      guest.post(`/v1/invitations/${invitation.id}/reject`),
      accept(guest, token),
      reject(guest, token),
    ])
    const { '200': won, ...losers } = count(answers)
    expect([won, Object.keys(losers)]).toEqual([1, ['409 invitation_answered']])
    const winner = answers.find(({ status }) => status === 200)?.body
    const [stored] = (await inviter.get('/v1/organization/invitations')).body
    expect(stored).toEqual(winner)
    const members = (await inviter.get('/v1/organization/members')).body
    expect(members).toHaveLength(winner.status === 'accepted' ? 2 : 1)
  }
})

test('POST …/resend racing POST …/accept: accepted with the old link, or still pending with a new one', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const inviter = await registerClient(server.url)
    const { invitation, token } = await invite(server, inviter, { email: guest.email })
    const resend = () => inviter.post(`/v1/organization/invitations/${invitation.id}/resend`)
    const [resent, accepted] =
      round % 2 === 0
        ? await Promise.all([resend(), accept(guest, token)])
        : (await Promise.all([accept(guest, token), resend()])).toReversed()
    const [{ status }] = (await inviter.get('/v1/organization/invitations')).body
    if (accepted?.status === 200) {
      expect(status).toBe('accepted')
      expect(count([resent!])).toEqual({ '409 invitation_answered': 1 })
    } else {
      expect(count([accepted!, resent!])).toEqual({ '410 invitation_replaced': 1, '200': 1 })
      expect(status).toBe('pending')
      const newToken = await readInvitationToken(server, invitation.id)
      expect((await accept(guest, newToken)).status).toBe(200)
    }
    expect((await inviter.get('/v1/organization/members')).body).toHaveLength(2)
  }
})

test('POST /v1/invitations/register: 20 concurrent requests create one account', async () => {
  const { token } = await invite(server, owner, { email: `new-${guest.email}`, role: 'viewer' })
  const answers = await Promise.all(Array.from({ length: 20 }, () => register(token)))
  const { '200': won, ...losers } = count(answers)
  expect(won).toBe(1)
  expect(Object.keys(losers)).toEqual(['409 invitation_answered'])
  expect(await listRoles()).toEqual(['super_admin', 'viewer'])
})

test('POST /v1/invitations/register racing POST /v1/user/register: one account; if the invitation loses, it stays pending', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const inviter = await registerClient(server.url)
    const email = `${round}-${guest.email}`
    const { token } = await invite(server, inviter, { email })
    const details = { email: email.toUpperCase(), password: 'correct horse battery', organization: 'Own' }
    const [invited, own] = await Promise.all([
      register(token),
      createClient(server.url).post('/v1/user/register', details),
    ])
    expect(count([invited, own])).toEqual({ '200': 1, '409 email_taken': 1 })
    const [{ status }] = (await inviter.get('/v1/organization/invitations')).body
    expect(status).toBe(invited.status === 200 ? 'accepted' : 'pending')
    expect((await inviter.get('/v1/organization/members')).body).toHaveLength(invited.status === 200 ? 2 : 1)
  }
})

test('POST /v1/invitations/register racing POST …/accept by the account with that email: only the accept succeeds', async () => {
  const { token } = await invite(server, owner, { email: guest.email })
  const answers = await Promise.all([register(token), accept(guest, token), register(token)])
  expect(answers[1]?.status).toBe(200)
  for (const answer of [answers[0], answers[2]]) {
    expect(answer?.status).toBe(409)
    expect(['email_taken', 'invitation_answered']).toContain(answer?.body.code)
  }
  expect(await listRoles()).toEqual(['super_admin', 'member'])
})

test('POST …/accept: 10 concurrent acceptances of one user all succeed; one organization is current', async () => {
  const tokens: string[] = []
  for (let index = 0; index < 10; index += 1) {
    const inviter = await registerClient(server.url, { organization: `Host ${index}` })
    tokens.push((await invite(server, inviter, { email: guest.email })).token)
  }
  const answers = await Promise.all(tokens.map((token) => accept(guest, token)))
  expect(count(answers)).toEqual({ '200': 10 })
  expect((await guest.get('/v1/organization')).body).toMatchObject({
    name: expect.stringMatching(/^Host \d$/),
    role: 'member',
  })
})

test('POST /v1/organization/invitations racing POST …/accept of the same email: never leaves a pending invitation for a member', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const inviter = await registerClient(server.url)
    const { token } = await invite(server, inviter, { email: guest.email })
    const [accepted, again] = await Promise.all([
      accept(guest, token),
      inviter.post('/v1/organization/invitations', { email: guest.email }),
    ])
    expect(accepted.status).toBe(200)
    expect(again.status).toBe(409)
    expect(['already_member', 'invitation_pending']).toContain(again.body.code)
    const statuses = (await inviter.get('/v1/organization/invitations')).body.map((each: any) => each.status)
    expect(statuses).toEqual(['accepted'])
  }
})

test('PATCH /v1/organization while people join: no deadlock', async () => {
  const guests = await Promise.all(Array.from({ length: 8 }, () => registerClient(server.url)))
  const tokens: string[] = []
  for (const { email } of guests) tokens.push((await invite(server, owner, { email })).token)
  const answers = await Promise.all(
    guests.flatMap((client, index) => [
      accept(client, tokens[index]!),
      owner.patch('/v1/organization', { name: `Engines ${index}` }),
    ]),
  )
  expect(count(answers)).toEqual({ '200': 16 })
  expect(await listRoles()).toHaveLength(9)
})

test('POST …/accept racing an SSO sign-in that accepts: one succeeds, neither fails with a 500', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const inviter = await registerClient(server.url)
    const { token } = await invite(server, inviter, { email: guest.email })
    const identity: Identity = {
      issuer: 'https://id.example.com',
      subject: guest.email,
      email: guest.email,
      groups: null,
      emailVerified: true,
      name: null,
      firstName: null,
      lastName: null,
    }
    // Verify the email first, so that the sign-in does not end the guest's session.
    await server.application.db
      .updateTable('users')
      .set({ email_verified_at: new Date() })
      .where('email', '=', guest.email)
      .execute()
    const outcomes = await Promise.all([
      accept(guest, token).then(({ body }) => body.code ?? 'accepted'),
      signInIdentity(
        server.application,
        serverActor,
        identity,
        hashToken(token),
        async (_, userId) => userId,
      ).then(
        () => 'accepted',
        (error: unknown) => (error as { code?: string }).code,
      ),
    ])
    expect(outcomes.toSorted()).toEqual(['accepted', 'invitation_answered'])
    await server.application.db.deleteFrom('identities').execute()
  }
})
