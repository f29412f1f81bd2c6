import type { Application } from '../../application.ts'
import { ApplicationError } from '../../errors.ts'

/** Throws `runtime_unavailable` where the runtime throws; `what` it was asked is told, and why it does not answer only logged. */
export async function askRuntime<Answer>(
  { log }: Pick<Application, 'log'>,
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
