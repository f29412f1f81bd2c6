import { ApplicationError } from '../../../base/errors.ts'
import type { TimeSlices } from '../../../gateway/time-slices.ts'
import type { Way } from './choose-way.ts'
import type { AnswerTranslation, DeploymentFacts, JsonObject } from '../protocols/protocol.ts'
import type { InferenceRequest } from './request-body.ts'

/**
 * Longest body that is translated, in bytes: it becomes objects, which block the process while they are made.
 */
const maxTranslatedBytes = 8 * 1024 * 1024

/** A request as an engine gets it, and what makes its answer the caller's; null if it is that already. */
export interface ReadRequest {
  readonly request: InferenceRequest
  readonly answers: AnswerTranslation | null
}

/** Translates a request for another route of the engine. Rejects with the caller's 400. */
export async function translateRequest(
  { translate, read }: Way,
  { body }: InferenceRequest,
  facts: DeploymentFacts,
  slices: TimeSlices,
): Promise<ReadRequest> {
  if (body.length > maxTranslatedBytes) {
    const message = `The engine does not serve this route, so Berth translates requests, and those may have ${maxTranslatedBytes} bytes.`
    throw new ApplicationError('body_too_large', message)
  }
  const { body: translated, answers } = translate!(parseObject(body), facts)
  return { request: await read(Buffer.from(JSON.stringify(translated)), slices), answers }
}

function parseObject(body: Buffer | string): JsonObject {
  try {
    return JSON.parse(typeof body === 'string' ? Buffer.from(body, 'latin1').toString() : body.toString())
  } catch {
    throw new ApplicationError('invalid_request_error', 'The body is not valid JSON.')
  }
}
