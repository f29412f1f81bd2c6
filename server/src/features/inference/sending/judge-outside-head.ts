import { ApplicationError } from '../../../base/errors.ts'
import type { ResponseHead } from '../../../gateway/upstream-client/upstream.ts'
import type { EngineTarget } from '../targets/targets.ts'

/** What the responses of a server with OpenAI's protocol consist of */
const answerTypes = /^(?:application\/(?:[\w.-]+\+)?json|text\/event-stream)\s*(?:;|$)/i

/** Why the response of an engine that others run can't be the caller's; null if it can. */
export function judgeOutsideHead(
  { status, headers }: ResponseHead,
  { modelName }: Pick<EngineTarget, 'modelName'>,
): ApplicationError | null {
  // The caller's own key is fine, and only an admin can change the endpoint's.
  if (status === 401 || status === 403) {
    const message = `The endpoint of ${modelName} refuses the key that it was given. An admin can change the key.`
    return new ApplicationError('endpoint_refused', message)
  }
  if (status < 400 && status !== 200) {
    const redirects = status >= 300 ? ' Redirects are not followed.' : ''
    return invalid(`The endpoint of ${modelName} responded with ${status}.${redirects}`)
  }
  if (status === 200 && !answerTypes.test(headers['content-type'] ?? '')) {
    return invalid(`The endpoint of ${modelName} responded with something other than JSON.`)
  }
  return null
}

function invalid(message: string): ApplicationError {
  return new ApplicationError('engine_response_invalid', message)
}
