import { createHash } from 'node:crypto'
import type { Database } from '../../database/tables.ts'
import { ApplicationError } from '../../base/errors.ts'
import { assertInNetworks, isInNetworks, networkOf, parseNetworks } from '../../base/network.ts'
import type { Services } from '../../services.ts'
import type { Actor } from '../../base/viewer.ts'
import { assertPasswordsAllowed } from '../accounts/access-policy.ts'
import { findAccountByEmail, foldEmail } from '../accounts/find-account.ts'
import { isKnownNetwork } from '../accounts/known-networks.ts'
import { rejectPassword, verifyPassword } from '../accounts/passwords.ts'
import {
  clearAttempts,
  countAttempt,
  countOnAccount,
  refundAttempts,
  refundUnjudged,
} from '../accounts/rate-limits.ts'
import type { CountedAttempt } from '../accounts/rate-limits.ts'
import { isServiceEmail } from '../accounts/service-accounts.ts'
import { accountDisabled } from '../accounts/set-disabled.ts'
import { recordAction } from '../audit/record-action.ts'
import type { VerifiedFactor } from '../second-factors/check-factor.ts'
import { isFactorRequired, isInvalidFactor } from '../second-factors/errors.ts'
import { requireFactor } from '../second-factors/require-factor.ts'
import type { PresentedFactor } from '../second-factors/require-factor.ts'
import { findServicePassword } from '../service-members/passwords.ts'
import { invalidCredentials } from './errors.ts'
import type { PasswordProof } from './start-password-session.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'secretKey'>
type Account = NonNullable<Awaited<ReturnType<typeof findAccountByEmail>>>

const failures = {
  windowMilliseconds: 15 * 60_000,
  message: 'Too many failed sign-ins. Try again later.',
}
const limits = { account: { ...failures, attempts: 10 }, address: { ...failures, attempts: 100 } }

/**
 * Attempts count as failed until they succeed, so that parallel ones can't exceed the limit. Unknown emails
 * and wrong passwords have the same error and duration. Throws `account_disabled`, `network_not_allowed`,
 * `second_factor_required`, `invalid_code` and `invalid_passkey` for a right password only, and
 * `password_sign_in_disabled` for people where only SSO is allowed.
 */
export async function signIn(
  deps: Deps,
  visitor: Actor,
  { email, password, ...presented }: { email: string; password: string } & PresentedFactor,
): Promise<{ userId: number; proof: PasswordProof; secondFactor: VerifiedFactor | null }> {
  const { db, clock } = deps
  await assertPasswordAllowed(deps, email)
  const now = clock()
  const network = networkOf(visitor.address ?? '')
  const key = accountKey(await foldEmail(db, email))
  const onNetwork = await countAttempt(db, `sign-in-address:${network}`, limits.address, now)
  const onAccount: CountedAttempt[] = []
  const counted = [onNetwork]
  const { user, origin, proof } = await refundUnjudged(db, counted, async () => {
    const found = await findAccountByEmail(db, email)
    const from = { network, isKnownNetwork: await isOwnNetwork(db, found, visitor.address, now) }
    onAccount.push(...(await countOnAccount(db, { key, ...from }, limits.account, now)))
    counted.push(...onAccount)
    return { user: found, origin: from, proof: await provePassword(deps, found, password, now) }
  })
  if (user === undefined || proof === null) {
    await recordRefusedSignIn(db, visitor, user)
    throw invalidCredentials()
  }
  await refundAttempts(db, onAccount)
  try {
    assertAdmitted(user, visitor.address)
    const secondFactor = await requireFactor(deps, user.id, { ...presented, ...origin })
    await refundAttempts(db, [onNetwork])
    return { userId: user.id, proof, secondFactor }
  } catch (error) {
    // A wrong factor still counts against the network.
    if (!isInvalidFactor(error)) await refundAttempts(db, [onNetwork])
    await recordStop(db, visitor, user, error)
    throw error
  }
}

/** Throws `password_sign_in_disabled` for people where only SSO is allowed: services need passwords. */
async function assertPasswordAllowed({ db, config }: Deps, email: string): Promise<void> {
  if (config.sso?.only === true && !(await isServiceEmail(db, email))) assertPasswordsAllowed(config)
}

/** Whether an account has signed in from this address's network, or the network is a service member's. */
async function isOwnNetwork(
  db: Database,
  user: Account | undefined,
  address: string | null,
  now: Date,
): Promise<boolean> {
  if (user?.allowed_networks) return isInNetworks(address, parseNetworks(user.allowed_networks))
  return isKnownNetwork(db, user?.id, networkOf(address ?? ''), now)
}

/** Checks a password, or null. Takes the same time for people, service members and unknown emails. */
async function provePassword(
  { db, config }: Deps,
  user: Account | undefined,
  password: string,
  now: Date,
): Promise<PasswordProof | null> {
  const passwordHash = user?.password_hash ?? null
  if (passwordHash !== null) return (await verifyPassword(password, passwordHash)) ? { passwordHash } : null
  await rejectPassword(config.passwordHashing, password)
  return user?.allowed_networks ? findServicePassword(db, user.id, password, now) : null
}

/** Throws `account_disabled`, and `network_not_allowed` for a service member outside its networks. */
function assertAdmitted({ disabled_at, allowed_networks }: Account, address: string | null): void {
  if (disabled_at !== null) throw accountDisabled()
  if (allowed_networks !== null) assertInNetworks(address, parseNetworks(allowed_networks))
}

/** Records why a right password opened no session. */
async function recordStop(db: Database, visitor: Actor, user: Account, error: unknown): Promise<void> {
  const code = error instanceof ApplicationError ? error.code : null
  if (code === 'account_disabled') await recordRefusedSignIn(db, visitor, user)
  else if (code === 'network_not_allowed') await recordRefusedSignIn(db, visitor, user, 'network')
  else if (isInvalidFactor(error)) await recordRefusedSignIn(db, visitor, user, 'second_factor')
  else if (isFactorRequired(error)) await recordRequestedFactor(db, visitor, user)
}

/** An unknown email is not recorded: people type passwords into the wrong field. */
async function recordRefusedSignIn(
  db: Database,
  visitor: Actor,
  user: Account | undefined,
  step: 'password' | 'network' | 'second_factor' = 'password',
): Promise<void> {
  await recordAction(db, visitor, 'session.sign_in_refused', {
    organizationId: user?.current_organization_id ?? null,
    target: user && { type: 'user', id: user.id, name: user.email },
    details: { auth_method: 'password', ...(step === 'password' ? {} : { step }) },
    result: 'refused',
  })
}

/** Shows the owner that another person has the password, even without a second factor. */
async function recordRequestedFactor(db: Database, visitor: Actor, user: Account): Promise<void> {
  await recordAction(db, visitor, 'session.second_factor_requested', {
    organizationId: user.current_organization_id,
    target: { type: 'user', id: user.id, name: user.email },
  })
}

/** Resets the failed sign-ins of an account, from every network. */
export async function clearFailedSignIns(db: Database, email: string): Promise<void> {
  await clearAttempts(db, accountKey(await foldEmail(db, email)))
}

function accountKey(foldedEmail: string): string {
  return `sign-in-account:${createHash('sha256').update(foldedEmail).digest('base64url')}`
}
