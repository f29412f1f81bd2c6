import { createHash } from 'node:crypto'
import type { UsageSend } from './usage-send-store.ts'

const hourMilliseconds = 3_600_000
/** How long after a period's end usage is still told of as its own: processors finalize an invoice an hour after it. */
const lateMilliseconds = 30 * 60_000

/**
 * The name that the processor knows an hour's usage by: a digest, since Stripe takes 100 characters, of what is unique there, so
 * that installations that share an account of it never take each other's for their own.
 */
export function toIdentifier(customerId: string, priceKey: string, hour: Date): string {
  return createHash('sha256')
    .update(JSON.stringify([customerId, priceKey, hour]))
    .digest('hex')
}

/**
 * The moment at which the processor is to count an hour's usage: the hour's last second, which lies after a subscription that
 * began in the hour. Once the period of that is closed it is the start of the present one, so that late usage is on the next
 * invoice instead of on none.
 */
export function toCountedAt(hour: Date, periodStart: Date | null, now: Date): Date {
  const last = new Date(hour.getTime() + hourMilliseconds - 1000)
  if (periodStart === null || last >= periodStart) return last
  return now.getTime() < periodStart.getTime() + lateMilliseconds ? last : periodStart
}

/** What an attempt at sending is to be about, by its row and its age. */
export type NextAttempt = 'wait' | 'send' | 'compare'

const attemptMilliseconds = 2 * 60_000
/** Processors know an identifier again for a day at least; after that the same one might be counted twice. */
const repeatableMilliseconds = 23 * hourMilliseconds
const settledMilliseconds = 24 * hourMilliseconds

/**
 * What to do about usage whose arrival is not known: tell it again under its identifier while that is safe, then look at what the
 * processor has counted. Another process's attempt may be under way for a while.
 */
export function planAttempt(
  { first_attempt_at: first, last_attempt_at: last }: Pick<UsageSend, 'first_attempt_at' | 'last_attempt_at'>,
  now: Date,
): NextAttempt {
  if (now.getTime() - last.getTime() < attemptMilliseconds) return 'wait'
  const age = now.getTime() - first.getTime()
  if (age < repeatableMilliseconds) return 'send'
  return age < settledMilliseconds ? 'wait' : 'compare'
}

/**
 * When usage that is new to the database was first told of, if ever: null for never. The database may be a restored one, older than
 * the processor's memory of identifiers; an hour of which that could be true is taken as told of right after its end.
 */
export function toForgottenAttempt(hour: Date, now: Date): Date | null {
  const end = new Date(hour.getTime() + hourMilliseconds)
  return now.getTime() - end.getTime() < repeatableMilliseconds ? null : end
}

const countedMilliseconds = 30 * 60_000

/** True once a processor, which counts some time after it was told, surely has all that it was told of by `lastToldAt`. */
export function isCounted(lastToldAt: Date | null, now: Date): boolean {
  return lastToldAt === null || now.getTime() - lastToldAt.getTime() >= countedMilliseconds
}

/** Which of a price's usage arrived: `counted` is all that the processor has, `sent` all that certainly arrived. */
export function settleUnknown(
  counted: number,
  sent: number,
  open: readonly number[],
): 'arrived' | 'lost' | 'unclear' {
  if (counted === sent) return 'lost'
  const all = open.reduce((sum, quantity) => sum + quantity, 0)
  return counted === sent + all ? 'arrived' : 'unclear'
}
