import { createHmac } from 'node:crypto'
import { v7 as uuidv7 } from 'uuid'
import { deriveKey } from '../../base/derive-key.ts'
import { decryptSecret, encryptSecret } from '../../base/encrypt-secret.ts'
import type { SecretUse } from '../../base/encrypt-secret.ts'
import { ApplicationError } from '../../base/errors.ts'
import type { Database } from '../../database/tables.ts'
import type { Services } from '../../services.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'secretKey'>

/** A request with an idempotency key. */
export interface KeyedRequest {
  userId: number
  key: string
  /** What must be the same in a repetition; it may contain secrets */
  content: string
}

/** The right to run a request: the latest attempt's. */
export interface Attempt {
  userId: number
  key: string
  id: string
}

/** A response to repeat. */
export interface KeptResponse {
  status: number
  headers: Record<string, string>
  body: string | null
}

/** Keys are deleted after so long. */
export const retentionMilliseconds = 24 * 3_600_000
/** Without renewal, another attempt may begin after so long. */
const leaseMilliseconds = 15_000
export const renewalMilliseconds = 5_000

/**
 * Claims the key of a request, or finds its response. Throws `idempotency_key_reused` and
 * `request_in_progress`.
 */
export async function claimKey(deps: Deps, request: KeyedRequest): Promise<Attempt | KeptResponse> {
  const { db, clock, secretKey } = deps
  const { userId, key, content } = request
  const hash = createHmac('sha256', deriveKey(secretKey, 'idempotency')).update(content).digest()
  const id = uuidv7()
  for (;;) {
    const now = clock()
    const values = { request_hash: hash, attempt: id, attempted_at: now, response: null, created_at: now }
    const claimed = await db
      .insertInto('idempotency_keys')
      .values({ user_id: userId, key, ...values })
      .onConflict((conflict) =>
        conflict
          .columns(['user_id', 'key'])
          .doUpdateSet(values)
          .where((where) =>
            where.or([
              where('idempotency_keys.created_at', '<=', before(now, retentionMilliseconds)),
              where.and([
                where('idempotency_keys.response', 'is', null),
                where('idempotency_keys.request_hash', '=', hash),
                where('idempotency_keys.attempted_at', '<=', before(now, leaseMilliseconds)),
              ]),
            ]),
          ),
      )
      .returning('attempt')
      .executeTakeFirst()
    if (claimed !== undefined) return { userId, key, id }
    const found = await db
      .selectFrom('idempotency_keys')
      .select(['request_hash', 'response'])
      .where('user_id', '=', userId)
      .where('key', '=', key)
      .executeTakeFirst()
    // The other attempt has just ended without a response to keep.
    if (found === undefined) continue
    if (!found.request_hash.equals(hash)) {
      const message =
        'Another request of yours had this Idempotency-Key. Send each new request with a new key.'
      throw new ApplicationError('idempotency_key_reused', message)
    }
    if (found.response === null) throw requestInProgress()
    const decrypted = decryptSecret(secretKey, useOf(userId), found.response)
    if (decrypted === null) throw new Error('a kept response belongs to another key')
    return JSON.parse(decrypted.toString()) as KeptResponse
  }
}

/** Keeps other attempts away while this one runs. */
export async function renewAttempt({ db, clock }: Deps, attempt: Attempt): Promise<void> {
  await db
    .updateTable('idempotency_keys')
    .set({ attempted_at: clock() })
    .where('user_id', '=', attempt.userId)
    .where('key', '=', attempt.key)
    .where('attempt', '=', attempt.id)
    .execute()
}

/** Keeps the response of an attempt. Throws `request_in_progress` if a later attempt has begun. */
export async function keepResponse(
  { db, secretKey }: Deps,
  { userId, key, id }: Attempt,
  response: KeptResponse,
): Promise<void> {
  const encrypted = encryptSecret(secretKey, useOf(userId), Buffer.from(JSON.stringify(response)))
  const { numUpdatedRows } = await db
    .updateTable('idempotency_keys')
    .set({ response: encrypted })
    .where('user_id', '=', userId)
    .where('key', '=', key)
    .where('attempt', '=', id)
    .executeTakeFirstOrThrow()
  if (numUpdatedRows === 0n) throw requestInProgress()
}

/** Forgets an attempt, so that the next one starts over. */
export async function forgetAttempt({ db }: Deps, { userId, key, id }: Attempt): Promise<void> {
  await db
    .deleteFrom('idempotency_keys')
    .where('user_id', '=', userId)
    .where('key', '=', key)
    .where('attempt', '=', id)
    .execute()
}

/** Forgets all keys of a user. */
export async function forgetKeys(db: Database, userId: number): Promise<void> {
  await db.deleteFrom('idempotency_keys').where('user_id', '=', userId).execute()
}

function requestInProgress(): ApplicationError {
  const message = 'The request with this Idempotency-Key still runs. Send it again in a second.'
  return new ApplicationError('request_in_progress', message, 1)
}

function useOf(userId: number): SecretUse {
  return { purpose: 'repeated responses', owner: `user:${userId}` }
}

function before(now: Date, milliseconds: number): Date {
  return new Date(now.getTime() - milliseconds)
}
