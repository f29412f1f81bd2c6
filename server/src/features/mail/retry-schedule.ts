const first = 2
const longest = 3_600
const patience = 3 * 24 * 3_600_000

/** Seconds to wait after the n-th failed attempt: 2, 6, 18, ... up to an hour. */
export function retryDelaySeconds(attempts: number): number {
  return Math.min(longest, first * 3 ** (attempts - 1))
}

/** True when a mail has been tried for so long (3 days) that nobody counts on it any more. */
export function isPastRetryDeadline(createdAt: Date, now: Date): boolean {
  return now.getTime() - createdAt.getTime() >= patience
}
