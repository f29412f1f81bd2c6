import { randomBytes } from 'node:crypto'
import { deriveLinkToken } from '../../src/features/mail/link-token.ts'
import type { RoleName } from '../../src/base/roles.ts'
import { createClient, registerClient } from './client.ts'
import type { Client } from './client.ts'
import { setRole } from './roles.ts'
import type { TestServer } from './server.ts'

export type Account = Client & { email: string; password: string }

/** The token in the newest email of an invitation. */
export async function readInvitationToken(
  { application }: Pick<TestServer, 'application'>,
  invitationId: number,
): Promise<string> {
  const { nonce } = await application.db
    .selectFrom('invitations')
    .select('nonce')
    .where('id', '=', invitationId)
    .executeTakeFirstOrThrow()
  return deriveLinkToken(application.secretKey, 'invitation', nonce)
}

/** Invites an email as `inviter` and returns the invitation with its emailed token. */
export async function invite(
  server: TestServer,
  inviter: Client,
  body: { email: string; role?: string },
): Promise<{ invitation: any; token: string }> {
  const answer = await inviter.post('/v1/organization/invitations', body)
  if (answer.status !== 200)
    throw new Error(`the invitation request returned ${answer.status}: ${JSON.stringify(answer.body)}`)
  return { invitation: answer.body, token: await readInvitationToken(server, answer.body.id) }
}

/** Creates an account whose only organization is that of `inviter`. */
export async function joinClient(
  server: TestServer,
  inviter: Client,
  role: RoleName,
  details: { email?: string; first_name?: string } = {},
): Promise<Account> {
  const email = details.email ?? `${randomBytes(6).toString('hex')}@example.com`
  const password = 'correct horse battery'
  const invited = role === 'super_admin' ? 'admin' : role
  const { token } = await invite(server, inviter, { email, role: invited })
  const client = createClient(server.url)
  const answer = await client.post('/v1/invitations/register', {
    ...details,
    email: undefined,
    token,
    password,
  })
  if (answer.status !== 200)
    throw new Error(`the registration returned ${answer.status}: ${JSON.stringify(answer.body)}`)
  if (invited !== role) await setRole(server, email, role)
  return { ...client, email, password }
}

/**
 * Creates an organization with one account of each role, and a stranger: the super_admin of another
 * organization.
 */
export async function createCast(server: TestServer, organization = 'Acme') {
  const superAdmin = await registerClient(server.url, { organization })
  const [viewer, member, admin] = await Promise.all([
    joinClient(server, superAdmin, 'viewer'),
    joinClient(server, superAdmin, 'member'),
    joinClient(server, superAdmin, 'admin'),
  ])
  const stranger = await registerClient(server.url, { organization: 'Elsewhere' })
  return { viewer, member, admin, superAdmin, stranger }
}

/** Registers an account with a proven email, as if its owner had opened the link of the welcome email. */
export async function registerProven(
  { url, application }: TestServer,
  details: Parameters<typeof registerClient>[1] = {},
): Promise<Account> {
  const client = await registerClient(url, details)
  await application.db
    .updateTable('users')
    .set({ email_verified_at: application.clock() })
    .where('email', '=', client.email)
    .execute()
  return client
}
