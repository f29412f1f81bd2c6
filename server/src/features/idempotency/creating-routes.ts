import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { ApplicationError } from '../../base/errors.ts'
import { OuterTransaction } from '../../database/outer-transaction.ts'
import type { App } from '../../http/app.ts'
import type { Creation } from '../../http/creation.ts'
import { toProblem } from '../../http/errors.ts'
import type { Services } from '../../services.ts'
import { claimKey, forgetAttempt, keepResponse, renewAttempt, renewalMilliseconds } from './keys.ts'
import type { Attempt } from './keys.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** What must be the same in a repetition; null without an idempotency key */
    repeatable: string | null
    /** The attempt at a request with an idempotency key; null when it has ended */
    attempt: RunningAttempt | null
  }
}

type Deps = Pick<Services, 'db' | 'clock' | 'secretKey' | 'log'>

interface RunningAttempt extends Attempt {
  stopRenewal: () => void
}

/** Response headers that belong to the thing that was created */
const keptHeaders = ['content-type', 'location', 'upload-expires']
/** Request headers that describe it */
const describingHeaders = ['upload-length', 'upload-metadata']
/** Refusals that depend on the caller or the moment rather than on the request */
const passingRefusals = new Set([401, 403, 408, 423, 429])

/** Lets routes with `config.creates` that are added later repeat their response to an `Idempotency-Key`. */
export function repeatCreations(app: App, deps: Deps): void {
  app.decorateRequest('repeatable', null)
  app.decorateRequest('attempt', null)
  app.decorateRequest('transaction', null)
  app.addHook('onRoute', (route) => {
    if (route.config?.creates !== undefined) repeatCreation(route, deps, route.config.creates)
  })
}

function repeatCreation(route: RouteOptions, deps: Deps, creates: Creation): void {
  route.preValidation = [...toList(route.preValidation), readContent]
  route.preHandler = [
    ...toList(route.preHandler),
    async (request: FastifyRequest, reply: FastifyReply) => {
      if (request.repeatable !== null) return begin(deps, creates, request, reply)
    },
  ]
  route.onSend = [
    ...toList(route.onSend),
    async (request: FastifyRequest, reply: FastifyReply, payload: unknown) => {
      const { attempt } = request
      if (attempt === null) return payload
      request.attempt = null
      try {
        await end(deps, attempt, request.transaction, reply, payload)
        return payload
      } catch (error) {
        for (const name of keptHeaders) reply.removeHeader(name)
        // Fastify would not give an error that follows a refusal to our handler.
        return JSON.stringify(toProblem(error, request, reply))
      }
    },
  ]
}

/** A preValidation hook: validation adds defaults, which may differ in another version of the server. */
async function readContent(request: FastifyRequest): Promise<void> {
  const key = readKey(request)
  if (key === null) return
  const { method, url, body, headers, viewer } = request
  const described = describingHeaders.map((name) => headers[name] ?? null)
  request.repeatable = JSON.stringify([viewer.organizationId, method, url, body ?? null, ...described])
}

function readKey({ headers }: FastifyRequest): string | null {
  const key = headers['idempotency-key']
  if (key === undefined) return null
  if (typeof key === 'string' && key.length >= 1 && key.length <= 255) return key
  throw new ApplicationError('malformed_request', 'An Idempotency-Key has 1 to 255 characters.')
}

async function begin(
  deps: Deps,
  creates: Creation,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply | undefined> {
  const { userId } = request.viewer
  const key = readKey(request)!
  const claimed = await claimKey(deps, { userId, key, content: request.repeatable! })
  if ('status' in claimed) {
    const { status, headers, body } = claimed
    reply.headers({ ...headers, 'idempotency-replayed': 'true' }).code(status)
    // Fastify would serialize a string again.
    return reply.send(body === null ? null : Buffer.from(body))
  }
  const renewal = setInterval(() => {
    renewAttempt(deps, claimed).catch((error: unknown) =>
      deps.log.warn({ err: error }, 'the attempt of an idempotency key was not renewed'),
    )
  }, renewalMilliseconds)
  request.attempt = { ...claimed, stopRenewal: () => clearInterval(renewal) }
  if (creates === 'atomically') request.transaction = new OuterTransaction(deps.db)
  return undefined
}

/** Commits what an attempt did, together with its response if the response is kept. */
async function end(
  deps: Deps,
  { stopRenewal, ...attempt }: RunningAttempt,
  transaction: OuterTransaction | null,
  reply: FastifyReply,
  payload: unknown,
): Promise<void> {
  const status = reply.statusCode
  const joined = { ...deps, db: transaction?.db ?? deps.db }
  try {
    if (status >= 500) await transaction?.rollback()
    if (status >= 500 || passingRefusals.has(status)) await forgetAttempt(joined, attempt)
    else {
      const headers = Object.fromEntries(
        keptHeaders.flatMap((name) => (reply.hasHeader(name) ? [[name, String(reply.getHeader(name))]] : [])),
      )
      const body = typeof payload === 'string' && payload !== '' ? payload : null
      await keepResponse(joined, attempt, { status, headers, body })
    }
    await transaction?.commit()
  } catch (error) {
    await transaction?.rollback().catch(() => undefined)
    // The caller has the first error already.
    if (status >= 500) return deps.log.warn({ err: error }, 'the attempt of an idempotency key was not ended')
    throw error
  } finally {
    stopRenewal()
  }
}

function toList<Hook>(hooks: Hook | Hook[] | undefined): Hook[] {
  return hooks === undefined ? [] : ([hooks].flat() as Hook[])
}
