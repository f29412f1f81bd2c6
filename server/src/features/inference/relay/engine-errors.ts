import type { ContextOverflow } from '../../../ports/engine-failures.ts'
import type { ModelRuntime } from '../../../ports/model-runtime.ts'
import type { CallerPaths, ErrorFacts, Protocol } from '../protocols/protocol.ts'

/** The facts about a request that the translation of an error needs. */
interface FailedRequest {
  servedModelName: string
  requestId: string
  protocol: Pick<Protocol, 'errors' | 'messages'>
  /** Of a translated request; absent if the engine has the caller's own */
  paths?: CallerPaths | undefined
}

/** An error response of an engine, as its caller gets it. */
export interface CallerError {
  status: number
  /** `bytes` if the engine's own body is forwarded */
  body: Buffer
}

/** Returns an engine's error in the protocol's shape: unchanged if it has that already. */
function toOwnShape(
  bytes: Buffer,
  status: number,
  { protocol, requestId }: Omit<FailedRequest, 'servedModelName'>,
): Buffer {
  const { errors } = protocol
  if (errors.isOwn === undefined) return bytes
  const body = parseJson(bytes)
  if (errors.isOwn(body)) return bytes
  const facts = {
    status,
    detail: readMessage(body) ?? bytes.toString().slice(0, 1_000),
    code: 'engine_error',
  }
  return composeError(facts, { protocol, requestId }).body
}

function composeError(
  facts: ErrorFacts,
  { protocol, requestId }: Omit<FailedRequest, 'servedModelName'>,
): CallerError {
  const { status, body } = protocol.errors.compose(facts, requestId)
  return { status, body: Buffer.from(JSON.stringify(body)) }
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString())
  } catch {
    return null
  }
}

/** The message of an error as engines write it: `error.message`, `error` or `detail`. */
function readMessage(body: unknown): string | null {
  const { error, detail } = (body ?? {}) as { error?: unknown; detail?: unknown }
  const message = (error as { message?: unknown } | null | undefined)?.message ?? error ?? detail
  return typeof message === 'string' ? message : null
}

/** An error that names a field, with the caller's path of it; null if it names none that differs. */
function renameField(body: unknown, paths: CallerPaths): Buffer | null {
  const { error } = (body ?? {}) as { error?: { param?: unknown; message?: unknown } | null }
  if (typeof error?.param !== 'string' || typeof error.message !== 'string') return null
  const names = error.param.split('.')
  for (let length = names.length; length > 0; length -= 1) {
    const path = paths.get(names.slice(0, length).join('.'))
    if (path === undefined) continue
    const named = new RegExp(
      String.raw`(?<![\w.])${error.param.replaceAll(/\W/g, String.raw`\$&`)}(?![\w.]*\w)`,
      'g',
    )
    const message = error.message.replaceAll(named, () => path)
    return Buffer.from(JSON.stringify({ ...(body as object), error: { ...error, param: path, message } }))
  }
  return null
}

/** Replaces the engine's words: clients recognize a request that is too long by these. */
function describeOverflow(
  { contextTokens, requestTokens }: ContextOverflow,
  { messages }: Pick<Protocol, 'messages'>,
): ErrorFacts {
  const [subject, verb, object] =
    messages === undefined ? ['the input', 'has', 'it'] : ['the messages', 'have', 'the messages']
  const length = requestTokens === null ? 'more' : `${requestTokens} tokens`
  return {
    status: 400,
    code: 'context_length_exceeded',
    detail: `This model's maximum context length is ${contextTokens} tokens, but ${subject} ${verb} ${length}. Shorten ${object}.`,
    facts: { param: messages },
  }
}

/**
 * Translates an engine's error response: `model_lost` when it no longer has the model; a body that the
 * runtime reads gets the protocol's shape, and a 429 if the engine has no room. Others stay unchanged.
 */
export function translateEngineError(
  runtime: Pick<ModelRuntime, 'readEngineError'>,
  status: number,
  bytes: Buffer,
  { servedModelName, paths, ...request }: FailedRequest,
): CallerError | 'model_lost' {
  if (paths !== undefined && status < 500) {
    const renamed = renameField(parseJson(bytes), paths)
    if (renamed !== null)
      return translateEngineError(runtime, status, renamed, { servedModelName, ...request })
  }
  const error = runtime.readEngineError?.({ status, body: bytes.toString(), servedModelName }) ?? null
  if (error === null) return { status, body: toOwnShape(bytes, status, request) }
  if (error.isModelLost) return 'model_lost'
  if (error.overflow !== undefined) {
    return composeError(describeOverflow(error.overflow, request.protocol), request)
  }
  const isOverloaded = error.isOverloaded === true || status === 429
  const meant = isOverloaded ? 429 : error.isRefused === true ? 400 : status
  const code = isOverloaded ? 'rate_limited' : meant < 500 ? 'invalid_request_error' : 'engine_error'
  return composeError({ status: meant, detail: error.message, code }, request)
}
