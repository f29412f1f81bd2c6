import { ApplicationError } from '../../base/errors.ts'
import { findShortage } from '../../base/local-shortage.ts'
import type { Services } from '../../services.ts'

/** Runs a query against the runtime. If the query throws, logs the error and throws `runtime_unavailable`. */
export async function queryRuntime<Answer>(
  { log }: Pick<Services, 'log'>,
  subject: 'instance types' | 'engine log',
  query: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await query()
  } catch (error) {
    if (findShortage(error) !== null) throw error
    log.warn({ err: error }, `could not read the ${subject} from the runtime`)
    const message = `The compute backend did not return the ${subject}. Try again in a few seconds.`
    throw new ApplicationError('runtime_unavailable', message, 5)
  }
}
