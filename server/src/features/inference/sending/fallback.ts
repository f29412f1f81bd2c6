import type { IncomingHttpHeaders } from 'node:http'
import { ApplicationError } from '../../../base/errors.ts'
import type { ErrorCode } from '../../../base/error-codes.ts'
import type { ServingDeployment } from '../../deployments/serving/serving-deployments.ts'

/** The facts of a deployment that tell callers which one did not serve. */
export type TriedDeployment = Pick<ServingDeployment, 'deploymentId' | 'modelName' | 'aliasOrder'>

/** A deployment of an alias that could not serve a request, and why. */
export interface Attempt {
  readonly deployment: TriedDeployment
  readonly error: ApplicationError
}

/** The deployment is full, asleep, failed or away, so the request may go to the next one. */
const unavailable: ReadonlySet<ErrorCode> = new Set([
  'rate_limited',
  'deployment_waking',
  'no_capacity',
  'insufficient_quota',
  'deployment_failed',
  'deployment_not_ready',
  'model_not_found',
  'upstream_unavailable',
  'endpoint_refused',
])

/** The request does not fit a deployment. The first one's refusal is the answer; others are passed over. */
const unfit: ReadonlySet<ErrorCode> = new Set([
  'invalid_request_error',
  'route_not_supported',
  'body_too_large',
])

/** Whether a request may go to another deployment after this error; `isFirst` if it met no other before. */
export function mayGoOn(error: unknown, isFirst: boolean): error is ApplicationError {
  if (!(error instanceof ApplicationError)) return false
  return unavailable.has(error.code) || (!isFirst && unfit.has(error.code))
}

/** Callers forbid other deployments with `X-Berth-Fallback: no`. Other values than `yes` do so too. */
export function allowsFallback(headers: IncomingHttpHeaders): boolean {
  const header = headers['x-berth-fallback']
  return header === undefined || (typeof header === 'string' && header.trim().toLowerCase() === 'yes')
}

/** The error of the first attempt, with what became of the others. */
export function composeRefusal([first, ...others]: readonly Attempt[]): ApplicationError {
  const { error } = first!
  if (others.length === 0) return error
  const sentences = others.map(({ deployment, error: { message } }) => `${nameOf(deployment)}: ${message}`)
  const fallbacks = others.map(({ deployment: { deploymentId, aliasOrder }, error: { code } }) => ({
    deployment_id: deploymentId,
    alias_order: toOrder(aliasOrder),
    code,
  }))
  return new ApplicationError(
    error.code,
    `${error.message} The alias has other deployments, which could not serve the request either. ${sentences.join(' ')}`,
    { facts: { ...error.facts, fallbacks }, kind: error.kind, retryAfterSeconds: error.retryAfterSeconds },
  )
}

function nameOf({ modelName, aliasOrder }: TriedDeployment): string {
  const order = toOrder(aliasOrder)
  return order === null ? modelName : `${modelName} (order ${order})`
}

/** As people set it: those without an order come last. */
function toOrder(order: number | null): number | null {
  return order === Infinity ? null : order
}
