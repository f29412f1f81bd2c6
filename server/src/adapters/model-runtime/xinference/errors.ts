import type { EngineError, EngineErrorResponse, EngineFailure } from '../../../ports/engine-failures.ts'
import { readEngineError as readError } from '../engine-errors.ts'
import { classifyReport } from '../engine-failures.ts'

/** An unreachable supervisor or an invalid response. Transient. `message` has no period at the end. */
export class SupervisorError extends Error {}

const maxMessageLength = 400
const noReason = 'no reason given'

/** Makes an error presentable: removes the actor's address, joins lines, and limits the length. */
export function cleanText(text: string): string {
  const plain = hideCredentials(withoutAddress(text))
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
  return plain.length > maxMessageLength ? `${plain.slice(0, maxMessageLength - 1)}…` : plain
}

/** The failure code for an error text that no rule matches: of a launch, or of a model that has run. */
export type DefaultFailureCode = 'launch_rejected' | 'engine_crashed'

/** Classifies an error text; `defaultCode` applies if no rule matches. */
export function toEngineFailure(text: string, defaultCode: DefaultFailureCode): EngineFailure {
  const cleaned = cleanText(text)
  const { stage, code } = classifyReport(cleaned) ?? {
    stage: defaultCode === 'engine_crashed' ? 'runtime' : 'model_launch',
    code: defaultCode,
  }
  const reason = cleaned === '' ? noReason : cleaned.replace(/\.$/, '')
  return { stage, code, message: `Xinference could not run the model: ${reason}.` }
}

/** Reads an error response of a model. A supervisor that has lost the model says so with its uid. */
export function readEngineError(response: EngineErrorResponse): EngineError | null {
  const { status, body, servedModelName } = response
  const invalid = /^Internal Server Error: \d+ validation errors? for \w+\s+(.+)/s.exec(body)
  if (invalid !== null) return { isModelLost: false, isRefused: true, message: cleanText(invalid[1]!) }
  const isNotFound = (status === 400 || status === 404) && /not found/i.test(body)
  if (isNotFound && body.includes(servedModelName)) return { isModelLost: true }
  const error = readError(response)
  if (error === null || error.isModelLost || error.overflow !== undefined) return error
  // SGLang refuses requests beyond its queue.
  const isOverloaded = status === 503 && /queue is full/i.test(body)
  return { ...error, isOverloaded, message: withoutAddress(error.message) }
}

/** Removes the address inside the cluster that Xinference puts in front of a text. */
function withoutAddress(text: string): string {
  return text.replace(/^(\s*\[address=[^\]]*\]\s*)+/, '')
}

/** Xinference doesn't learn from llama.cpp why a file didn't download or load. 3.5.0 gives no reason. */
export function explainUploadFailure<Failure extends EngineFailure>(failure: Failure): Failure {
  const { message: given } = failure
  if (!/failed to init server/i.test(given) && !given.includes(noReason)) return failure
  const message =
    'The Xinference worker could not download the uploaded file from this server, or llama.cpp could not load it. The log of the ' +
    'worker says why.'
  return { ...failure, stage: 'model_download', code: 'download_failed', message }
}

/** Removes the name and password of URLs, such as that of an uploaded file. */
export function hideCredentials(text: string): string {
  return text.replace(/(?<=:\/\/)[^\s/@]+@/g, '')
}

/** True if the cluster has no worker at the moment. */
export function isNoWorkerError(text: string): boolean {
  return /no available worker/i.test(text)
}
