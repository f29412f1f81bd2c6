import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { errors } from 'undici'
import type { Application } from '../../application.ts'
import { ApplicationError } from '../../errors.ts'
import type { Viewer } from '../../viewer.ts'
import { deriveEngineKey } from '../deployments/engine-spec.ts'
import { reportSilentEngine } from '../deployments/serving.ts'
import type { ServingDeployment } from '../deployments/serving.ts'
import { findTargets } from './find-target.ts'
import { rewriteForEngine } from './request-body.ts'
import type { InferenceRequest } from './request-body.ts'

export type InferencePath = '/v1/chat/completions' | '/v1/embeddings'

/** An engine's answer, its body still to be read; `done` must be called once when it was, or was given up. */
export interface EngineAnswer {
  target: ServingDeployment
  status: number
  headers: Record<string, string>
  body: Readable
  done(): void
}

const returnedHeaders = ['content-type', 'retry-after', 'x-request-id', 'openai-processing-ms']

/**
 * Sends a request to the least busy of the deployments that it may go to. One that refuses the connection is passed over: no
 * byte was sent. The signal ends the engine's request at once.
 */
export async function forwardToEngine(
  application: Application,
  viewer: Viewer,
  path: InferencePath,
  request: InferenceRequest,
  requestId: string,
  signal: AbortSignal,
): Promise<EngineAnswer> {
  const { inFlight } = application.engines
  const targets = await findTargets(application, viewer, request.model)
  const busy = ({ deploymentId }: ServingDeployment) => inFlight.get(deploymentId) ?? 0
  let refusal: unknown
  for (const target of targets.toSorted((one, other) => busy(one) - busy(other))) {
    inFlight.set(target.deploymentId, busy(target) + 1)
    const done = () => {
      const left = busy(target) - 1
      if (left > 0) inFlight.set(target.deploymentId, left)
      else inFlight.delete(target.deploymentId)
    }
    try {
      const answer = await send(application, target, path, request, requestId, signal)
      return { target, ...answer, done }
    } catch (error) {
      done()
      if (signal.aborted) throw error
      await reportSilentEngine(application, target)
      refusal = error
      if (!isRefused(error)) break
    }
  }
  throw toUpstreamError(refusal)
}

async function send(
  application: Application,
  target: ServingDeployment,
  path: InferencePath,
  request: InferenceRequest,
  requestId: string,
  signal: AbortSignal,
): Promise<Pick<EngineAnswer, 'status' | 'headers' | 'body'>> {
  const { engines, runtime } = application
  const origin = target.engineUrl ?? ''
  const ask = (authorization: string | null) =>
    engines.agent.request({
      origin,
      path,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: request.stream ? 'text/event-stream' : 'application/json',
        ...(authorization === null ? {} : { authorization }),
        'x-request-id': requestId,
      },
      body: rewriteForEngine(request, target.modelUid),
      signal,
    })
  const authorization = await authorize(application, target, origin)
  let answer = await ask(authorization)
  if (answer.statusCode === 401 && runtime.authorizeEngine !== undefined) {
    await answer.body.dump()
    answer = await ask(await runtime.authorizeEngine(origin, authorization))
  }
  return { status: answer.statusCode, headers: pick(answer.headers), body: answer.body }
}

async function authorize(
  { runtime, secretKey }: Application,
  { deploymentId }: ServingDeployment,
  origin: string,
): Promise<string | null> {
  if (runtime.authorizeEngine !== undefined) return runtime.authorizeEngine(origin)
  return `Bearer ${deriveEngineKey(secretKey, deploymentId)}`
}

function pick(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    returnedHeaders.flatMap((name) => {
      const value = headers[name]
      return typeof value === 'string' ? [[name, value]] : []
    }),
  )
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

function isRefused(error: unknown): boolean {
  return error instanceof errors.ConnectTimeoutError || codeOf(error) === 'ECONNREFUSED'
}

/** What the caller is told of an engine that can't be reached, or that broke off before its answer was there. */
export function toUpstreamError(error: unknown): ApplicationError {
  if (error instanceof errors.HeadersTimeoutError || error instanceof errors.BodyTimeoutError) {
    return new ApplicationError('upstream_silent', 'upstream_timeout', 'The engine did not answer in time.')
  }
  const message = 'The engine can’t be reached now.'
  return new ApplicationError('upstream_failed', 'upstream_unavailable', message)
}
