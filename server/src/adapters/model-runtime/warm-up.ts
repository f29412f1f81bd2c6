import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request as send } from 'undici'
import { findShortage } from '../../base/local-shortage.ts'
import type { EngineObservation, EngineSpec, ModelRuntime } from '../../ports/model-runtime.ts'
import type { ModelType } from '../../ports/model-variant.ts'

/** Limits of the warm-up, in milliseconds. */
export interface WarmUpTimeouts {
  /** How long `ensureEngine` waits for a response before it reports `starting` */
  wait: number
  /** For one request: the first request of some engines compiles kernels */
  request: number
  /** How long an engine may send 503 before a restart: the launch of its model may have been cut off */
  unavailable: number
  /** From the first request until an engine without a successful response counts as failed */
  total: number
}

const defaultTimeouts: WarmUpTimeouts = {
  wait: 2_000,
  request: 120_000,
  unavailable: 90_000,
  total: 5 * 60_000,
}
/** Callers repeat `ensureEngine` every few seconds. An older warm-up belongs to an earlier start. */
const staleAfter = 60_000
const maxResponseBytes = 2 ** 20

interface WarmUp {
  baseUrl: string
  startedAt: number
  checkedAt: number
  cancellation: AbortController
  /** The request in flight */
  request: Promise<Outcome> | null
  /** When the engine began to send 503; null if its last response was another */
  unavailableSince: number | null
  /** A header that got a 401 */
  refusedAuthorization: string | null
}

/** The first request to each engine, by the type of its model. */
export type WarmUpRequests = Readonly<
  Record<
    ModelType,
    {
      path: string
      warmUp: {
        /** Members next to `model` */
        input: Readonly<Record<string, unknown>>
        /** The member of the response with a list of results */
        results: string
      }
    }
  >
>

/** null on success, otherwise the error, with the status if the engine answered, or why it was not asked. */
type Outcome = { message: string; status?: number; unasked?: Error } | null

/** Reports `ready` after one inference request, because engines without a model pass health checks. */
export function withWarmUp(
  runtime: ModelRuntime,
  requests: WarmUpRequests,
  timeouts: WarmUpTimeouts = defaultTimeouts,
): ModelRuntime {
  const warmUps = new Map<string, WarmUp>()
  const agent = new Agent({ maxResponseSize: maxResponseBytes })

  function cancel(engineId: string): void {
    warmUps.get(engineId)?.cancellation.abort()
    warmUps.delete(engineId)
  }

  function openWarmUp(engineId: string, baseUrl: string, now: number): WarmUp {
    const existing = warmUps.get(engineId)
    if (existing?.baseUrl === baseUrl && now - existing.checkedAt < staleAfter) return existing
    cancel(engineId)
    const warmUp: WarmUp = {
      baseUrl,
      startedAt: now,
      checkedAt: now,
      cancellation: new AbortController(),
      request: null,
      unavailableSince: null,
      refusedAuthorization: null,
    }
    warmUps.set(engineId, warmUp)
    return warmUp
  }

  async function ask(spec: EngineSpec, warmUp: WarmUp): Promise<Outcome> {
    try {
      const authorization =
        runtime.authorizeEngine === undefined
          ? `Bearer ${spec.apiKey}`
          : await runtime.authorizeEngine(warmUp.baseUrl, warmUp.refusedAuthorization)
      const signal = AbortSignal.any([warmUp.cancellation.signal, AbortSignal.timeout(timeouts.request)])
      const { path, warmUp: request } = requests[spec.variant.modelType]
      const body = { model: spec.servedModelName, ...request.input }
      const response = await send(warmUp.baseUrl + path, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(authorization === null ? {} : { authorization }),
        },
        body: JSON.stringify(body),
        dispatcher: agent,
        signal,
      })
      const status = response.statusCode
      warmUp.refusedAuthorization = status === 401 ? authorization : null
      const message = describeFailure(request.results, status, await response.body.text())
      return message === null ? null : { message, status }
    } catch (error) {
      const unasked = error instanceof Error && findShortage(error) !== null ? { unasked: error } : {}
      return { message: describeError(error), ...unasked }
    }
  }

  async function ensureEngine(spec: EngineSpec): Promise<EngineObservation> {
    const { engineId } = spec
    const observation = await runtime.ensureEngine(spec)
    if (observation.phase !== 'ready') {
      cancel(engineId)
      return observation
    }
    const now = performance.now()
    const warmUp = openWarmUp(engineId, observation.endpoint.baseUrl, now)
    warmUp.checkedAt = now
    warmUp.request ??= ask(spec, warmUp)
    const error = await Promise.race([warmUp.request, sleep(timeouts.wait, undefined, { ref: false })])
    if (error === undefined) {
      return { phase: 'starting', message: 'The engine is processing its first request.' }
    }
    warmUp.request = null
    if (error === null) {
      cancel(engineId)
      return observation
    }
    if (error.unasked !== undefined) throw error.unasked
    const message = `The engine is healthy, but its test request failed: ${error.message}.`
    const at = performance.now()
    warmUp.unavailableSince = error.status === 503 ? (warmUp.unavailableSince ?? now) : null
    const isUnavailable =
      warmUp.unavailableSince !== null && at - warmUp.unavailableSince >= timeouts.unavailable
    if (!isUnavailable && at - warmUp.startedAt < timeouts.total) return { phase: 'starting', message }
    cancel(engineId)
    const code = isUnavailable ? 'engine_unreachable' : 'readiness_timeout'
    return { phase: 'failed', stage: 'health_check', code, message }
  }

  return {
    ...runtime,
    // They change with an installation.
    get engines() {
      return runtime.engines
    },
    get clusterId() {
      return runtime.clusterId
    },
    get isConfigured() {
      return runtime.isConfigured
    },
    ensureEngine,
    stopEngine(engineId, clusterId) {
      cancel(engineId)
      return runtime.stopEngine(engineId, clusterId)
    },
    release(engineId, clusterId) {
      cancel(engineId)
      return runtime.release(engineId, clusterId)
    },
    async close() {
      for (const engineId of warmUps.keys()) cancel(engineId)
      await agent.destroy()
      await runtime.close()
    },
  }
}

/** Returns null if the response has at least one result in the list `name`. */
function describeFailure(name: string, status: number, text: string): string | null {
  const body = parseObject(text)
  const results = body[name]
  if (status === 200 && Array.isArray(results) && results.length > 0) return null
  const { error, detail } = body
  const message = error instanceof Object && 'message' in error ? error.message : (detail ?? error)
  const shown = (typeof message === 'string' ? message : text).replaceAll(/\s+/g, ' ').trim().slice(0, 300)
  return shown === '' ? `HTTP ${status}` : `HTTP ${status}: ${shown.replace(/[.\s]+$/, '')}`
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

function describeError(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error'
  if (error.name === 'TimeoutError') return 'no response in time'
  return error.message
}
