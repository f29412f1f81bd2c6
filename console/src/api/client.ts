import type { Problem } from '../../../server/src/contract.ts'
import { takeEarlyAnswer } from './early.ts'
import { text } from '../text/index.ts'

/** An answer of the API that is not a success: `status` is 0 where no answer came at all. */
export class ApiError extends Error {
  readonly status: number
  /** The stable word of the problem, `offline` where no answer came. */
  readonly code: string
  /** What is wrong with each field of the request body, by the field's name. */
  readonly fields: Record<string, string>
  readonly requestId: string | null
  /** In how many seconds another try may succeed, where the answer says so. */
  readonly retryAfter: number | null

  constructor(problem: {
    status: number
    code: string
    detail: string
    fields?: Record<string, string>
    requestId?: string | null
    retryAfter?: number | null
  }) {
    super(problem.detail)
    this.name = 'ApiError'
    this.status = problem.status
    this.code = problem.code
    this.fields = problem.fields ?? {}
    this.requestId = problem.requestId ?? null
    this.retryAfter = problem.retryAfter ?? null
  }
}

interface RequestOptions {
  body?: unknown
  query?: Record<string, string | number | boolean | undefined>
  signal?: AbortSignal | undefined
}

/** Calls the API and gives the parsed body of a success, undefined for one without; throws ApiError. */
export async function callApi<Body>(
  method: string,
  path: string,
  options: RequestOptions = {},
): Promise<Body> {
  const response = await send(method, path, options)
  if (!response.ok) throw await toApiError(response)
  return (response.status === 204 ? undefined : await response.json()) as Body
}

/** As callApi, for a body that is read as it comes: gives the response once its head is a success. */
export async function openStream(path: string, options: RequestOptions): Promise<Response> {
  const response = await send('POST', path, options)
  if (!response.ok) throw await toApiError(response)
  return response
}

async function send(
  method: string,
  path: string,
  { body, query, signal }: RequestOptions,
): Promise<Response> {
  const url = new URL(path, location.origin)
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined) url.searchParams.set(name, String(value))
  }
  try {
    const early = method === 'GET' ? takeEarlyAnswer(path) : undefined
    if (early) return await early
    return await fetch(url, {
      method,
      signal: signal ?? null,
      ...(body !== undefined && {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
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
  })
}
