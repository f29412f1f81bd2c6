const firstDelaySeconds = 2
const maxDelaySeconds = 3_600
const deadlineMilliseconds = 3 * 24 * 3_600_000

/** Seconds to wait after the n-th failed attempt: 2, 6, 18, ... up to one hour. */
export function retryDelaySeconds(attempts: number): number {
  return Math.min(maxDelaySeconds, firstDelaySeconds * 3 ** (attempts - 1))
}

/** Whether an email is more than 3 days old. Retries end then. */
export function isPastRetryDeadline(createdAt: Date, now: Date): boolean {
  return now.getTime() - createdAt.getTime() >= deadlineMilliseconds
}
