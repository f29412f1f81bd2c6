import type { IncomingHttpHeaders } from 'node:http'
import { userIdOf } from '../../deployments/serving/asker.ts'
import { mostRetries } from '../../metering/request-log.ts'
import type { LoggedRequest } from '../../metering/request-log.ts'
import type { Caller } from '../arrival/caller.ts'

/** What the log keeps of a request's head, which a stream drops when it begins. */
export interface LoggedHead {
  client: string | null
  /** OpenAI's and Anthropic's libraries count their attempts from 0 */
  retry: number
}

export function readLoggedHead(headers: IncomingHttpHeaders): LoggedHead {
  return { client: headers['user-agent'] ?? null, retry: readRetry(headers['x-stainless-retry-count']) }
}

/** Any other value than a number counts as one retry. */
function readRetry(count: string | string[] | undefined): number {
  if (count === undefined || count === '0') return 0
  const number = Number(count)
  return Number.isInteger(number) && number >= 0 ? Math.min(number, mostRetries) : 1
}

/** The entry of a request that reached no deployment; `status` is 499 if its caller left. */
export function describeRefused(
  { asker, request: { id, headers } }: Pick<Caller, 'asker' | 'request'>,
  { model, route, status, receivedAt }: { model: string; route: string; status: number; receivedAt: number },
): LoggedRequest {
  const milliseconds = performance.now() - receivedAt
  return {
    id,
    ageMilliseconds: milliseconds,
    organizationId: asker.viewer.organizationId,
    userId: userIdOf(asker),
    deploymentId: null,
    model,
    route,
    status,
    firstTokenMilliseconds: null,
    durationMilliseconds: milliseconds,
    ...readLoggedHead(headers),
    callerLeft: status === 499,
    hidesCache: false,
  }
}
