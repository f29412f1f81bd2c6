import type { Agent } from 'undici'
import { SupervisorFault, cleanText } from './faults.ts'

/** An answer of a supervisor: its JSON, or what it says went wrong. */
export interface Answer {
  status: number
  /** null for an error whose body is no JSON */
  body: unknown
  /** What is wrong, cleaned; empty for a success */
  detail: string
  retryAfterSeconds: number | null
}

export interface Ask {
  method: 'GET' | 'POST' | 'DELETE'
  path: string
  body?: unknown
  authorization?: string | null | undefined
  timeoutMs: number
}

/** Bytes of an answer that are read at most */
export const longestAnswer = 8 * 2 ** 20

/** Asks a supervisor; throws a SupervisorFault when no answer comes or a success is no JSON. */
export async function askSupervisor(agent: Agent, origin: string, ask: Ask): Promise<Answer> {
  const { host } = new URL(origin)
  try {
    const { statusCode, headers, body } = await agent.request({
      origin,
      path: ask.path,
      method: ask.method,
      headers: {
        accept: 'application/json',
        ...(ask.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(ask.authorization == null ? {} : { authorization: ask.authorization }),
      },
      body: ask.body === undefined ? null : JSON.stringify(ask.body),
      signal: AbortSignal.timeout(ask.timeoutMs),
    })
    const text = await body.text()
    const parsed = parse(text)
    const success = statusCode >= 200 && statusCode < 300
    if (success && parsed === undefined) throw new SupervisorFault(`${host} answered what is no JSON`)
    // Proxies answer so for a supervisor that is gone; the supervisor's own 503 has a detail.
    if (parsed === undefined && [502, 503, 504].includes(statusCode)) {
      throw new SupervisorFault(`a proxy answered ${statusCode} for ${host}`)
    }
    const retryAfter = Number(headers['retry-after'])
    return {
      status: statusCode,
      body: parsed ?? null,
      detail: success ? '' : cleanText(readDetail(parsed) ?? `${statusCode} ${text}`),
      retryAfterSeconds: retryAfter > 0 ? retryAfter : null,
    }
  } catch (error) {
    if (error instanceof SupervisorFault) throw error
    throw new SupervisorFault(`${host} did not answer (${describe(error)})`, { cause: error })
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** FastAPI's `{"detail": …}`, of which validation gives a list, or the router's `{"error": {"message"}}`. */
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
