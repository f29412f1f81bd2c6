import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Problem } from '../../../console/src/contract.ts'
import type {
  CreatingPath,
  ResponseBody,
  Input,
  Method,
  Optional,
  PathOf,
  PathTo,
} from '../../../console/src/operations.ts'
import { CommandError, exitCodes, messageOf } from '../base/errors.ts'
import { version } from '../../package.json'
import type { KeptKey } from './idempotency-keys.ts'

/** An error response of the API, with a message for people. */
export class ApiError extends CommandError {
  readonly status: number
  /** The stable code for programs; null if the response has none */
  readonly code: string | null
  readonly requestId: string | null
  /** The whole problem, with members that only some codes have */
  readonly facts: Partial<Problem>

  constructor(response: Response, message: string, code: string | null, facts: Partial<Problem>) {
    super(message, code === 'not_authenticated' ? exitCodes.notSignedIn : exitCodes.failure)
    this.name = 'ApiError'
    this.status = response.status
    this.code = code
    this.requestId = response.headers.get('x-request-id')
    this.facts = facts
  }
}

/** The server did not respond. A later attempt may succeed. */
export class ConnectionError extends CommandError {}

/** A client's session, and the callback of its renewal. */
export interface Credentials {
  /** The value of the `Cookie` header; null before the sign-in */
  cookie: string | null
  onRenewal?: (cookie: string) => void
  /** Keeps the key of a request until it has an answer */
  keepKey?: (request: string) => Promise<KeptKey>
}

/** Things that a repeated command must not create twice. */
const creatingPaths: readonly string[] = [
  '/api/v1/deployable-models',
  '/api/v1/model-deployments',
  '/v1/billing/budgets',
  '/v1/organization/invitations',
  '/v1/organization/service-members',
  '/v1/organization/teams',
] satisfies CreatingPath[]

interface RequestOptions {
  signal?: AbortSignal | undefined
}

interface AnyInput extends RequestOptions {
  path?: Record<string, string | number>
  query?: Record<string, string | number | boolean | undefined>
  body?: unknown
}

/** Calls one server with one session. Types follow openapi.json. */
export class Client {
  readonly url: string
  readonly #credentials: Credentials

  constructor(url: string, credentials: Credentials) {
    this.url = url
    this.#credentials = credentials
  }

  /** The value of the `Cookie` header; null without a session */
  get cookie(): string | null {
    return this.#credentials.cookie
  }

  /** Calls the API and returns the parsed body; undefined for a 204. Throws ApiError or ConnectionError. */
  async call<M extends Method, const Path extends PathOf<M>>(
    method: M,
    path: Path,
    ...[input]: Optional<Input<M, Path> & RequestOptions>
  ): Promise<ResponseBody<M, Path>> {
    const response = await this.#send(method, path, input)
    return (response.status === 204 ? undefined : await response.json()) as ResponseBody<M, Path>
  }

  /**
   * Creates something. An interrupted earlier attempt may have made it; if `find` finds that gone, it is made
   * again. Throws ApiError or ConnectionError.
   */
  async create<const Path extends CreatingPath>(
    path: Path,
    input: Input<'POST', Path>,
    find: (made: ResponseBody<'POST', Path>) => Promise<ResponseBody<'POST', Path> | undefined>,
  ): Promise<ResponseBody<'POST', Path>> {
    const response = await this.#send('POST', path, input)
    const made = (await response.json()) as ResponseBody<'POST', Path>
    if (response.headers.get('idempotency-replayed') !== 'true') return made
    // The key is answered now, so the next request has a new one.
    return (
      (await find(made)) ??
      ((await (await this.#send('POST', path, input)).json()) as ResponseBody<'POST', Path>)
    )
  }

  /** Sends a POST or GET whose response is a stream of events. Throws ApiError or ConnectionError. */
  openStream<M extends 'GET' | 'POST', const Path extends PathTo<M, 'text/event-stream'>>(
    method: M,
    path: Path,
    input: Input<M, Path> & RequestOptions,
  ): Promise<Response> {
    return this.#send(method, path, input, 'text/event-stream')
  }

  async #send(method: Method, path: string, input: AnyInput = {}, accept?: string): Promise<Response> {
    const isCreating = method === 'POST' && creatingPaths.includes(path)
    const response = await (isCreating
      ? this.#create(path, input)
      : this.#request(method, writeUrl(path, input), input, { accept }))
    this.#keepCookie(response)
    if (response.ok) return response
    throw await toApiError(response, this.url)
  }

  /** Sends a request with an idempotency key, and again while an earlier attempt of it runs. */
  async #create(path: string, input: AnyInput): Promise<Response> {
    const { keepKey } = this.#credentials
    const kept = await keepKey?.(JSON.stringify([this.url, path, input.body]))
    const headers = { 'idempotency-key': kept?.key ?? randomUUID() }
    for (;;) {
      const response = await this.#request('POST', path, input, headers)
      const seconds = Number(response.headers.get('retry-after'))
      if (response.status === 409 && seconds > 0) {
        await delay(seconds * 1000, undefined, { signal: input.signal })
        continue
      }
      // A proxy may have lost the answer.
      if (response.status < 500) await kept?.forget()
      return response
    }
  }

  async #request(
    method: Method,
    path: string,
    { body, signal }: AnyInput,
    { accept, ...headers }: { accept?: string | undefined; 'idempotency-key'?: string },
  ) {
    const { cookie } = this.#credentials
    try {
      return await fetch(this.url + path, {
        method,
        // A redirect could lead to a server that must not get the request.
        redirect: 'manual',
        signal: signal ?? null,
        headers: {
          'user-agent': `berth-cli/${version} (${process.platform})`,
          ...(cookie !== null && { cookie }),
          ...(accept !== undefined && { accept }),
          ...headers,
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
    } catch (error) {
      if (signal?.aborted) throw error
      throw new ConnectionError(
        `${this.url} does not respond: ${causeOf(error)}. Check the address and the network.`,
      )
    }
  }

  /** Takes a cookie that the server sets: at a sign-in, and when it renews a session. */
  #keepCookie(response: Response): void {
    const [line] = response.headers.getSetCookie()
    const [pair = ''] = line?.split(';', 1) ?? []
    if (pair === '' || pair.endsWith('=') || pair === this.#credentials.cookie) return
    this.#credentials.cookie = pair
    this.#credentials.onRenewal?.(pair)
  }
}

function writeUrl(path: string, { path: values = {}, query = {} }: AnyInput): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) search.set(name, String(value))
  }
  const url = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''))
  return search.size > 0 ? `${url}?${search.toString()}` : url
}

/** fetch() hides why it failed. */
function causeOf(error: unknown): string {
  const { cause } = error as Error
  const { code } = (cause ?? {}) as NodeJS.ErrnoException
  return code ?? messageOf(cause ?? error)
}

/** Reads an error response. */
export async function toApiError(response: Response, url: string): Promise<ApiError> {
  const location = response.headers.get('location')
  if (location !== null) {
    return new ApiError(
      response,
      `${url} redirects to ${location}. Sign in to that server instead.`,
      null,
      {},
    )
  }
  const body: unknown = await response.json().catch(() => null)
  const unknown = `${url} returned the status ${response.status}.`
  if (typeof body !== 'object' || body === null) return new ApiError(response, unknown, null, {})
  if ('error' in body) {
    const { message, code } = body.error as { message?: string; code?: string | null }
    return new ApiError(response, message ?? unknown, code ?? null, {})
  }
  const problem = body as Partial<Problem>
  return new ApiError(response, describeProblem(problem) ?? unknown, problem.code ?? null, problem)
}

function describeProblem({ code, detail, errors = [] }: Partial<Problem>): string | undefined {
  if (code === 'not_authenticated')
    return 'You are not signed in, or your session has ended. Run `berth login`.'
  if (code !== 'validation_failed' || errors.length === 0) return detail
  return errors.map(({ field, message }) => `${field}: ${message}`).join('\n')
}
