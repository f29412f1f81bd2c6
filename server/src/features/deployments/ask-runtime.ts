import { ApplicationError } from '../../errors.ts'
import type { Services } from '../../services.ts'

/** Throws `runtime_unavailable` where the runtime throws; `what` it was asked is told, and why it does not answer only logged. */
export async function askRuntime<Answer>(
  { log }: Pick<Services, 'log'>,
  what: 'what it offers' | 'what the engine wrote',
  ask: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await ask()
  } catch (error) {
    log.warn({ err: error }, `the runtime did not say ${what}`)
    const message = `The runtime does not say ${what}. Try again later.`
    throw new ApplicationError('unavailable', 'runtime_unavailable', message, 5)
  }
}
