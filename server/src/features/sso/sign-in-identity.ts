import { isUndeliverable } from '../../base/undeliverable.ts'
import type { Services } from '../../services.ts'
import { violatesUnique } from '../../database/connect.ts'
import type { DatabaseTransaction } from '../../database/tables.ts'
import { ApplicationError } from '../../base/errors.ts'
import type { Identity } from '../../ports/identity-provider.ts'
import type { Actor } from '../../base/viewer.ts'
import { assertMayRegister } from '../accounts/access-policy.ts'
import { changeEmail } from '../accounts/change-email.ts'
import { enterDomainOrganization } from '../domains/domain-organization.ts'
import { recordJoin } from '../domains/join-domain.ts'
import { followGroups, roleOfGroups } from './follow-groups.ts'
import { createAccount, defaultUserName } from '../accounts/create-account.ts'
import { foldsIntoAscii } from '../accounts/email-folding.ts'
import { findAccountByEmail } from '../accounts/find-account.ts'
import { identifyActor } from '../accounts/identify-actor.ts'
import { recordAction } from '../audit/record-action.ts'
import { acceptInvitationWithin } from '../invitations/answer-invitation.ts'
import { createInvitedAccount } from '../invitations/register-invitee.ts'
import { requireOpenInvitation } from '../invitations/require-open-invitation.ts'
import { queueMail } from '../mail/queue-mail.ts'
import { createOrganization, nameOrganizationOf } from '../organizations/create-organization.ts'
import { claimAccount } from '../sign-in/claim-account.ts'
import { deleteLinks } from '../sign-in/delete-links.ts'
import { SsoRefusal } from './errors.ts'
import { findLinkedUser, insertIdentity, listIdentities } from './store.ts'
import { sendEmailVerification } from '../sign-in/email-verification.ts'
import { unlinkIdentities } from './unlink-identities.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'secretKey'>

const maxAttempts = 3

/**
 * Finds the linked account and updates its email, else the one with the verified email, else creates one. An
 * unverified email never reaches an existing account. Accepts an invitation. Calls `start` in the same
 * transaction. A `SsoRefusal` changes nothing.
 */
export async function signInIdentity<Session>(
  deps: Deps,
  visitor: Actor,
  identity: Identity,
  invitationTokenHash: Buffer | null,
  start: (transaction: DatabaseTransaction, userId: number) => Promise<Session>,
): Promise<Session> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await deps.db.transaction().execute(async (transaction) => {
        const userId =
          invitationTokenHash === null
            ? await findOrCreate(deps, transaction, visitor, identity)
            : await acceptInvitation(deps, transaction, visitor, identity, invitationTokenHash)
        await followGroups(deps, transaction, visitor, userId, identity)
        return start(transaction, userId)
      })
    } catch (error) {
      // A concurrent sign-in created the account or the link. The next attempt finds it.
      if (attempt === maxAttempts || !lostRace(error)) throw toRefusal(error)
    }
  }
}

async function findOrCreate(
  deps: Deps,
  transaction: DatabaseTransaction,
  visitor: Actor,
  identity: Identity,
): Promise<number> {
  const at = deps.clock()
  const linked = await findLinkedUser(transaction, identity)
  if (linked !== undefined) {
    await followEmail(deps, transaction, visitor, linked, identity)
    return linked.id
  }
  const email = requireEmail(identity)
  const existing = await findAccount(deps, transaction, identity, email)
  const userId =
    existing ?? (await createAccountWithOrganization(deps, transaction, visitor, identity, email, at))
  await linkIdentity(deps, transaction, visitor, { userId, isNew: existing === null }, identity)
  return userId
}

/**
 * Links an identity to a locked account and emails an existing owner. Throws `sso_email_in_use` if the
 * account has another identity of this issuer: its address then belonged to another person before.
 */
async function linkIdentity(
  deps: Pick<Services, 'clock' | 'config' | 'jobs'>,
  transaction: DatabaseTransaction,
  visitor: Actor,
  { userId, isNew }: { userId: number; isNew: boolean },
  { issuer, subject }: Identity,
): Promise<void> {
  const linked = (await listIdentities(transaction, userId)).find((other) => other.issuer === issuer)
  // A concurrent sign-in of the same person was first.
  if (linked?.subject === subject) return
  if (linked !== undefined) throw new SsoRefusal('sso_email_in_use')
  await insertIdentity(transaction, { issuer, subject, userId, at: deps.clock() })
  const actor = await identifyActor(transaction, visitor, userId)
  const { email } = actor
  if (!isNew) {
    await queueMail(deps, transaction, { kind: 'identity_linked', subjectId: userId, recipient: email })
  }
  const target = { type: 'user', id: userId, name: email } as const
  await recordAction(transaction, actor, 'user.identity_linked', { target, details: { issuer } })
}

/** The provider's email, or null: no person owns one without mail, such as a service member's. */
function emailOf({ email }: Identity): string | null {
  return email !== null && !foldsIntoAscii(email) && !isUndeliverable(email) ? email : null
}

/** The provider's email if it has verified it, or null. */
function verifiedEmailOf(identity: Identity): string | null {
  return identity.emailVerified ? emailOf(identity) : null
}

/** Voids links to the earlier email, which stays if another account has the new one. Returns the email. */
async function followEmail(
  deps: Pick<Services, 'clock' | 'config' | 'jobs'>,
  transaction: DatabaseTransaction,
  visitor: Actor,
  user: { id: number; email: string },
  identity: Identity,
): Promise<string> {
  const email = verifiedEmailOf(identity)
  if (email === null || email.toLowerCase() === user.email.toLowerCase()) return user.email
  const owner = await findAccountByEmail(transaction, email)
  if (owner !== undefined && owner.id !== user.id) {
    await record('refused', user.email)
    return user.email
  }
  await changeEmail(transaction, user.id, email, deps.clock())
  await deleteLinks(transaction, user.id)
  await queueMail(deps, transaction, { kind: 'email_changed', subjectId: user.id, recipient: email })
  await record('succeeded', email)
  return email

  async function record(result: 'succeeded' | 'refused', name: string): Promise<void> {
    const actor = await identifyActor(transaction, visitor, user.id)
    const target = { type: 'user', id: user.id, name } as const
    const details = { email: { from: user.email, to: email } }
    await recordAction(transaction, actor, 'user.email_changed', { target, details, result })
  }
}

async function acceptInvitation(
  deps: Deps,
  transaction: DatabaseTransaction,
  visitor: Actor,
  identity: Identity,
  tokenHash: Buffer,
): Promise<number> {
  const at = deps.clock()
  const email = requireEmail(identity)
  const invitation = await requireOpenInvitation(transaction, tokenHash, at)
  const linked = await findLinkedUser(transaction, identity)
  const ownEmail =
    linked === undefined ? email : await followEmail(deps, transaction, visitor, linked, identity)
  for (const address of [email, ownEmail]) {
    if (address.toLowerCase() !== invitation.invitee_email.toLowerCase()) {
      throw new SsoRefusal('sso_invitation_mismatch')
    }
  }
  const existing = linked?.id ?? (await findAccount(deps, transaction, identity, email))
  const userId =
    existing ??
    (await createInvitedAccount(
      transaction,
      visitor,
      tokenHash,
      { ...personOf(identity), passwordHash: null, isEmailVerified: identity.emailVerified },
      at,
    ))
  if (existing !== null) {
    const actor = { ...visitor, userId, email, organizationId: invitation.organization_id }
    await acceptInvitationWithin(transaction, actor, existing, tokenHash, at)
  }
  if (linked === undefined) {
    await linkIdentity(deps, transaction, visitor, { userId, isNew: existing === null }, identity)
  }
  return userId
}

/** Creates an account in the organization of a proven address's domain; null without one. */
async function joinDomain(
  deps: Deps,
  transaction: DatabaseTransaction,
  visitor: Actor,
  identity: Identity,
  email: string,
  at: Date,
): Promise<number | null> {
  const entered = identity.emailVerified ? await enterDomainOrganization(transaction, deps, email) : null
  if (entered === null) return null
  const { domain, organizationId, isNew } = entered
  const byGroup = roleOfGroups(deps.config, identity.groups)
  const role = isNew ? entered.role : (byGroup ?? entered.role)
  const userId = await createAccount(
    transaction,
    visitor,
    { ...personOf(identity), email, emailVerifiedAt: at, passwordHash: null },
    { organizationId, role },
  )
  const actor = { ...visitor, userId, email, organizationId }
  await recordJoin(transaction, actor, { userId, email, organizationId, role, domain })
  return userId
}

/** The organization's name is provisional until the profile is completed. */
async function createAccountWithOrganization(
  deps: Deps,
  transaction: DatabaseTransaction,
  visitor: Actor,
  identity: Identity,
  email: string,
  at: Date,
): Promise<number> {
  const { config } = deps
  assertMayRegister(config.registration, email)
  const person = personOf(identity)
  const joined = await joinDomain(deps, transaction, visitor, identity, email, at)
  if (joined !== null) return joined
  const owner = person.name ?? defaultUserName({ ...person, email })
  const organizationId = await createOrganization(transaction, nameOrganizationOf(owner))
  const emailVerifiedAt = identity.emailVerified ? at : null
  const id = await createAccount(
    transaction,
    visitor,
    { ...person, email, emailVerifiedAt, passwordHash: null, profileIncomplete: true },
    { organizationId, role: 'super_admin' },
  )
  if (!identity.emailVerified && config.mail.url !== null) {
    await sendEmailVerification(deps, transaction, { id, email })
  }
  return id
}

function personOf({ name, firstName, lastName }: Identity) {
  return { name, firstName, lastName, country: null, contactNumber: null }
}

/** The account with the identity's email, or null. Throws if the identity doesn't prove to own the email. */
async function findAccount(
  deps: Deps,
  transaction: DatabaseTransaction,
  { emailVerified }: Identity,
  email: string,
): Promise<number | null> {
  const account = await findAccountByEmail(transaction, email)
  if (account === undefined) return null
  if (!emailVerified) throw new SsoRefusal('sso_email_unverified')
  // The identity that made an account with an unproven address may be another person's.
  if (account.email_verified_at === null) await unlinkIdentities(transaction, account.id)
  return claimAccount(deps, transaction, email, deps.clock())
}

function requireEmail(identity: Identity): string {
  if (identity.email === null) throw new SsoRefusal('sso_email_missing')
  const email = emailOf(identity)
  if (email === null) throw new SsoRefusal('sso_email_unverified')
  return email
}

function lostRace(error: unknown): boolean {
  return (
    violatesUnique(error, 'identities_key') ||
    violatesUnique(error, 'users_email_key') ||
    (error instanceof ApplicationError && error.code === 'email_taken')
  )
}

/** Translates an error of an account or an invitation into an error code of the sign-in page. */
function toRefusal(error: unknown): unknown {
  if (!(error instanceof ApplicationError)) return error
  switch (error.code) {
    case 'not_found':
    case 'invitation_replaced':
      return new SsoRefusal('invitation_not_found')
    case 'account_disabled':
    case 'registration_closed':
    case 'invitation_answered':
    case 'invitation_expired':
      return new SsoRefusal(error.code)
    default:
      return error
  }
}
