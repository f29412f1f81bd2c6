import type { Agent } from 'undici'
import { findShortage } from '../../../base/local-shortage.ts'
import { SupervisorError, cleanText } from './errors.ts'

/** A supervisor's response: its JSON, or its error detail. */
export interface SupervisorResponse {
  status: number
  /** null if an error response is not JSON */
  body: unknown
  /** Cleaned error text; empty on success */
  detail: string
  retryAfterSeconds: number | null
}

export interface SupervisorRequest {
  method: 'GET' | 'POST' | 'DELETE'
  path: string
  body?: unknown
  authorization?: string | null | undefined
  timeoutMs: number
}

/** Responses above this size fail. */
export const maxResponseBytes = 8 * 2 ** 20

/** Throws SupervisorError if no response arrives or a successful one is not JSON. */
export async function sendRequest(
  agent: Agent,
  { origin, clusterId }: { origin: string; clusterId: string },
  request: SupervisorRequest,
): Promise<SupervisorResponse> {
  try {
    const { statusCode, headers, body } = await agent.request({
      origin,
      path: request.path,
      method: request.method,
      headers: {
        accept: 'application/json',
        ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(request.authorization == null ? {} : { authorization: request.authorization }),
      },
      body: request.body === undefined ? null : JSON.stringify(request.body),
      signal: AbortSignal.timeout(request.timeoutMs),
    })
    const text = await body.text()
    const parsed = parse(text)
    const success = statusCode >= 200 && statusCode < 300
    if (success && parsed === undefined)
      throw new SupervisorError(`${clusterId} sent a response that is not JSON`)
    // A proxy answers for an unreachable supervisor. The supervisor's own 503 has a JSON detail.
    if (parsed === undefined && [502, 503, 504].includes(statusCode)) {
      throw new SupervisorError(`the proxy of ${clusterId} answered ${statusCode}`)
    }
    const retryAfter = Number(headers['retry-after'])
    return {
      status: statusCode,
      body: parsed ?? null,
      detail: success ? '' : cleanText(readDetail(parsed) ?? `${statusCode} ${text}`),
      retryAfterSeconds: retryAfter > 0 ? retryAfter : null,
    }
  } catch (error) {
    if (error instanceof SupervisorError || findShortage(error) !== null) throw error
    throw new SupervisorError(`${clusterId} did not respond (${describe(error)})`, { cause: error })
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Reads FastAPI's `{"detail": …}`, a list if validation fails, or the router's `{"error": {"message"}}`. */
function readDetail(body: unknown): string | null {
  const { detail, error } = (body ?? {}) as { detail?: unknown; error?: { message?: unknown } | null }
  if (typeof detail === 'string') return detail
  if (detail !== undefined) return JSON.stringify(detail)
  return typeof error?.message === 'string' ? error.message : null
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  if (error.name === 'TimeoutError') return 'timeout'
  const { code } = (error.cause instanceof Error ? error.cause : error) as { code?: unknown }
  return typeof code === 'string' ? code : error.name
}
