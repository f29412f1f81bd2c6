import type { Problem } from '../contract.ts'
import type {
  ResponseBody,
  Input,
  MediaTypeOf,
  Method,
  Optional,
  PathOf,
  PathTo,
  UrlInput,
} from '../operations.ts'
import { takeEarlyResponse } from './early.ts'
import { text } from '../text/index.ts'

/** The code of an error that arises in the console. */
type OwnCode =
  | 'broken_off'
  | 'engine_error'
  | 'not_copied'
  | 'offline'
  | 'passkey_failed'
  | 'strange_answer'
  | 'unknown'

/** The stable code of an error, for comparisons. */
export type ErrorCode = Problem['code'] | OwnCode

/** An error response of the API. `status` is 0 and `code` is `offline` when the server did not respond. */
export class ApiError extends Error {
  readonly status: number
  readonly code: ErrorCode
  /** Validation messages by name of the request body's field. */
  readonly fields: Record<string, string>
  readonly requestId: string | null
  /** Seconds from the `Retry-After` header. */
  readonly retryAfter: number | null
  /** The whole problem, with members that only some codes have. */
  readonly facts: Partial<Problem>

  constructor(problem: {
    status: number
    code: ErrorCode
    detail: string
    fields?: Record<string, string>
    requestId?: string | null
    retryAfter?: number | null
    facts?: Partial<Problem>
  }) {
    super(problem.detail)
    this.name = 'ApiError'
    this.status = problem.status
    this.code = problem.code
    this.fields = problem.fields ?? {}
    this.requestId = problem.requestId ?? null
    this.retryAfter = problem.retryAfter ?? null
    this.facts = problem.facts ?? {}
  }
}

/** Whether there is nothing at the address, or nothing that the person may see. */
export const isNotFound = (error: unknown): boolean => error instanceof ApiError && error.status === 404

/** Whether no response came, or a proxy's own because the server behind it is down. */
export const isUnreachable = (error: unknown): boolean =>
  error instanceof ApiError &&
  (error.code === 'offline' || (error.code === 'unknown' && [502, 503, 504].includes(error.status)))

interface RequestOptions {
  signal?: AbortSignal | undefined
}

/** Calls the API and returns the parsed body; undefined for a 204. Throws ApiError. */
export async function callApi<M extends Method, const Path extends PathOf<M>>(
  method: M,
  path: Path,
  ...[input]: Optional<Input<M, Path> & RequestOptions>
): Promise<ResponseBody<M, Path>> {
  const response = await send(method, path, input)
  return (response.status === 204 ? undefined : await response.json()) as ResponseBody<M, Path>
}

/** Downloads a response of another type than JSON. Throws ApiError. */
export async function download<const Path extends PathOf<'GET'>>(
  path: Path,
  accept: MediaTypeOf<'GET', Path> & string,
  ...[input]: Optional<Input<'GET', Path>>
): Promise<Blob> {
  const response = await send('GET', path, input, accept)
  return response.blob()
}

/** Sends a POST whose response body is read as a stream. Throws ApiError unless the status is a success. */
export function openStream<const Path extends PathTo<'POST', 'text/event-stream'>>(
  path: Path,
  input: Input<'POST', Path> & RequestOptions,
): Promise<Response> {
  return send('POST', path, input)
}

/** The URL of an operation, without the origin. */
export function toUrl<const Path extends PathOf<'GET'>>(
  path: Path,
  ...[input]: Optional<UrlInput<'GET', Path>>
): string {
  return writeUrl(path, input)
}

type QueryValue = string | number | boolean

interface AnyInput extends RequestOptions {
  path?: Record<string, string | number>
  query?: Record<string, QueryValue | readonly QueryValue[] | undefined>
  body?: unknown
}

function writeUrl(path: string, { path: values = {}, query = {} }: AnyInput = {}): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    for (const each of [value ?? []].flat()) search.append(name, String(each))
  }
  const url = path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values[name] ?? ''))
  return search.size > 0 ? `${url}?${search}` : url
}

async function send(method: Method, path: string, input: AnyInput = {}, accept?: string): Promise<Response> {
  const response = await request(method, writeUrl(path, input), input, accept)
  if (!response.ok) throw await toApiError(response)
  return response
}

async function request(
  method: Method,
  url: string,
  { body, signal }: AnyInput,
  accept?: string,
): Promise<Response> {
  try {
    const early = method === 'GET' ? takeEarlyResponse(url) : undefined
    if (early) return await early
    const send = method === 'POST' ? (await import('./fetch-once.ts')).fetchOnce : fetch
    return await send(url, {
      method,
      signal: signal ?? null,
      headers: {
        ...(accept && { accept }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  } catch (error) {
    if (signal?.aborted) throw error
    throw new ApiError({ status: 0, code: 'offline', detail: text.errors.offline })
  }
}

async function toApiError(response: Response): Promise<ApiError> {
  const fallback = {
    status: response.status,
    code: 'unknown' as const,
    detail: text.errors.unexpected(response.status),
    retryAfter: Number(response.headers.get('retry-after')) || null,
  }
  const body: unknown = await response.json().catch(() => null)
  if (typeof body !== 'object' || body === null) return new ApiError(fallback)
  if ('error' in body) {
    const { message, code, type } = body.error as { message: string; code: ErrorCode | null; type: ErrorCode }
    return new ApiError({ ...fallback, code: code ?? type, detail: message })
  }
  const problem = body as Problem
  return new ApiError({
    ...fallback,
    ...(problem.detail && { detail: problem.detail }),
    ...(problem.code && { code: problem.code }),
    fields: Object.fromEntries(
      (problem.errors ?? [])
        .filter(({ location }) => location === 'body')
        .map(({ field, message }) => [field, message]),
    ),
    requestId: problem.request_id,
    facts: problem,
  })
}
