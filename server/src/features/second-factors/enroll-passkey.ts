import type { RegistrationResponseJSON } from '@simplewebauthn/server'
import { ApplicationError } from '../../base/errors.ts'
import type { Services } from '../../services.ts'
import type { Viewer } from '../../base/viewer.ts'
import { lockAccount } from '../accounts/lock-account.ts'
import { recordAction } from '../audit/record-action.ts'
import { queueMail } from '../mail/queue-mail.ts'
import { deleteSessions } from '../sessions/delete-sessions.ts'
import { invalidPasskey } from './errors.ts'
import {
  challengeMilliseconds,
  consumeChallenge,
  insertChallenge,
  insertPasskey,
  listPasskeys,
} from './passkey-store.ts'
import { reauthenticate } from './reauthenticate.ts'
import type { Reauthentication } from './reauthenticate.ts'
import { issueRecoveryCodes } from './rotate-recovery-codes.ts'
import { countRecoveryCodes } from './store.ts'
import { createRegistrationOptions, verifyRegistration } from './webauthn.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'secretKey'>

const mostPasskeys = 20

/** Returns the browser's options for a new passkey. Their challenge works once, within five minutes. */
export async function startPasskey(deps: Deps, viewer: Viewer, proof: Reauthentication) {
  const { db, clock, config } = deps
  const { userId, email, name } = viewer
  const consume = await reauthenticate(deps, viewer, proof, 'user.second_factor_started')
  const existing = await listPasskeys(db, userId)
  if (existing.length >= mostPasskeys) {
    const message = `Your account has ${mostPasskeys} passkeys already. Remove one first.`
    throw new ApplicationError('too_many_passkeys', message)
  }
  const options = await createRegistrationOptions(config, { id: userId, email, name }, existing)
  await db.transaction().execute(async (transaction) => {
    await consume(transaction)
    const expiresAt = new Date(clock().getTime() + challengeMilliseconds)
    await insertChallenge(transaction, {
      text: options.challenge,
      userId,
      purpose: 'registration',
      expiresAt,
    })
    const target = { type: 'user', id: userId, name: email } as const
    const details = { method: 'passkey' }
    await recordAction(transaction, viewer, 'user.second_factor_started', { target, details })
  })
  return options
}

/** Ends other sessions; returns recovery codes if none exist. Throws `invalid_passkey`, `passkey_exists`. */
export async function addPasskey(
  deps: Deps,
  viewer: Viewer,
  { name, response }: { name: string; response: RegistrationResponseJSON },
): Promise<{ id: number; recoveryCodes: string[] | null }> {
  const { db, clock, config } = deps
  const { userId, email } = viewer
  const verified = await verifyRegistration(config, response)
  if (verified === null) throw invalidPasskey()
  const { challenge, credential } = verified
  return db.transaction().execute(async (transaction) => {
    const at = clock()
    await lockAccount(transaction, userId)
    if (!(await consumeChallenge(transaction, { text: challenge, userId, purpose: 'registration', at }))) {
      throw invalidPasskey()
    }
    const id = await insertPasskey(transaction, {
      user_id: userId,
      credential_id: credential.id,
      public_key: Buffer.from(credential.publicKey),
      sign_count: credential.counter,
      transports: credential.transports ?? [],
      name,
      created_at: at,
    })
    if (id === undefined) {
      throw new ApplicationError('passkey_exists', 'This passkey was added before.')
    }
    await deleteSessions(transaction, userId, { except: viewer.session.id })
    await queueMail(deps, transaction, { kind: 'second_factor_added', subjectId: userId, recipient: email })
    const target = { type: 'user', id: userId, name: email } as const
    const details = { method: 'passkey', name }
    await recordAction(transaction, viewer, 'user.second_factor_added', { target, details })
    const hasCodes = (await countRecoveryCodes(transaction, userId)) > 0
    return { id, recoveryCodes: hasCodes ? null : await issueRecoveryCodes(transaction, userId) }
  })
}
