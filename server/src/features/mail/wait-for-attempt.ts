import { setTimeout as delay } from 'node:timers/promises'
import type { Services } from '../../services.ts'
import { isAttempted } from './store.ts'

const firstPause = 25
const longestPause = 200

/** Waits until a worker has tried to send the email, at most as long as the installation allows. */
export async function waitForAttempt(
  { db, config }: Pick<Services, 'db' | 'config'>,
  mailId: number,
): Promise<void> {
  const end = performance.now() + config.mail.patienceMilliseconds
  for (let pause = firstPause; performance.now() < end; pause = Math.min(2 * pause, longestPause)) {
    await delay(pause)
    if (await isAttempted(db, mailId)) return
  }
}
