import type { Problem } from '../../../server/src/contract.ts'
import { takeEarlyResponse } from './early.ts'
import { text } from '../text/index.ts'

/** An error response of the API. `status` is 0 and `code` is `offline` when the server did not respond. */
export class ApiError extends Error {
  readonly status: number
  /** The problem's stable code. */
  readonly code: string
  /** Validation messages by name of the request body's field. */
  readonly fields: Record<string, string>
  readonly requestId: string | null
  /** Seconds from the `Retry-After` header. */
  readonly retryAfter: number | null
  /** The whole problem, with members that only some codes have. */
  readonly facts: Partial<Problem>

  constructor(problem: {
    status: number
    code: string
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

interface RequestOptions {
  body?: unknown
  /** The media type of the response; JSON by default */
  accept?: string
  query?: Record<string, string | number | boolean | undefined>
  signal?: AbortSignal | undefined
}

/** Calls the API and returns the parsed body; undefined for a 204. Throws ApiError. */
export async function callApi<Body>(
  method: string,
  path: string,
  options: RequestOptions = {},
): Promise<Body> {
  const response = await send(method, path, options)
  if (!response.ok) throw await toApiError(response)
  return (response.status === 204 ? undefined : await response.json()) as Body
}

/** Downloads a response of another type than JSON. Throws ApiError. */
export async function download(path: string, options: RequestOptions): Promise<Blob> {
  const response = await send('GET', path, options)
  if (!response.ok) throw await toApiError(response)
  return response.blob()
}

/** Sends a POST whose response body is read as a stream. Throws ApiError unless the status is a success. */
export async function openStream(path: string, options: RequestOptions): Promise<Response> {
  const response = await send('POST', path, options)
  if (!response.ok) throw await toApiError(response)
  return response
}

async function send(
  method: string,
  path: string,
  { body, accept, query, signal }: RequestOptions,
): Promise<Response> {
  const url = new URL(path, location.origin)
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined) url.searchParams.set(name, String(value))
  }
  try {
    const early = method === 'GET' ? takeEarlyResponse(url.pathname + url.search) : undefined
    if (early) return await early
    return await fetch(url, {
      method,
      signal: signal ?? null,
      headers: {
        ...(accept !== undefined && { accept }),
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
    code: 'unknown',
    detail: text.errors.unexpected(response.status),
    retryAfter: Number(response.headers.get('retry-after')) || null,
  }
  const body: unknown = await response.json().catch(() => null)
  if (typeof body !== 'object' || body === null) return new ApiError(fallback)
  if ('error' in body) {
    const { message, code, type } = body.error as { message: string; code: string | null; type: string }
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
