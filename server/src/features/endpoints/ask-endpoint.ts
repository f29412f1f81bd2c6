import { UnreachableAddressError } from '../../base/outgoing-addresses.ts'
import { sendOutgoing } from '../../base/send-outgoing.ts'
import type { OutgoingRequest, OutgoingResponse } from '../../base/send-outgoing.ts'
import type { Services } from '../../services.ts'
import { toAuthorization } from '../../ports/endpoint-directory.ts'
import type { EndpointAccess } from '../../ports/endpoint-directory.ts'
import type { ModelType } from '../../ports/model-variant.ts'
import { parseJson, readModelList } from './read-model-list.ts'
import type { EndpointModel, EndpointStatus } from './tables.ts'

/** The response to one token. */
export interface EndpointAnswer {
  /** The model of the request */
  asked: string
  /** The model that the endpoint names in its response; null if it names none */
  model: string | null
  milliseconds: number
  /** null if the endpoint doesn't count */
  inputTokens: number | null
  outputTokens: number | null
}

/** What a check found. The message is one sentence, without any text of the endpoint. */
export interface EndpointFinding {
  status: EndpointStatus
  message: string | null
  /** The models that the endpoint lists; null if it gave no list */
  listed: EndpointModel[] | null
  answer: EndpointAnswer | null
}

type Failure = Pick<EndpointFinding, 'status'> & { message: string }

const listBytes = 4 * 2 ** 20
const answerBytes = 256 * 1024
const listMilliseconds = 10_000
/** A runtime tells the state of an engine within seconds. */
const presenceMilliseconds = 5_000
/** The responses of proxies in place of an absent server */
const absences: readonly (number | undefined)[] = [undefined, 502, 503, 504]
/** A server that loads its model on demand takes a while. */
const answerMilliseconds = 60_000

/** A request for as little as possible, by the type of the model, and the member with its results. */
const questions: Record<ModelType, { path: string; input: Record<string, unknown>; results: string }> = {
  LLM: {
    path: '/v1/chat/completions',
    input: { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 1 },
    results: 'choices',
  },
  embedding: { path: '/v1/embeddings', input: { input: 'Hi' }, results: 'data' },
  rerank: { path: '/v1/rerank', input: { query: 'Hi', documents: ['Hi'] }, results: 'results' },
}

/**
 * Asks an endpoint for its models and for one token of the first of `chosen`, or of those that it lists. An
 * endpoint without a list needs a choice.
 */
export async function askEndpoint(
  deps: Pick<Services, 'config'>,
  access: EndpointAccess,
  chosen: readonly EndpointModel[] | null,
): Promise<EndpointFinding> {
  const list = await readList(deps, access)
  if ('status' in list && (list.status !== 'invalid' || chosen === null)) {
    return { ...list, listed: null, answer: null }
  }
  const listed = 'status' in list ? null : list.models
  const models = chosen ?? listed ?? []
  // Most people add an endpoint for its chats.
  const model = models.find(({ type }) => type === 'LLM') ?? models[0]
  if (model === undefined) {
    return { status: 'invalid', message: 'The endpoint lists no models. Name them.', listed, answer: null }
  }
  const answer = await askModel(deps, access, model)
  return 'status' in answer
    ? { ...answer, listed, answer: null }
    : { status: 'ready', message: null, listed, answer }
}

/** Whether nothing responds at an endpoint, or a proxy in its place. Costs its owner no token. */
export async function isAway(deps: Pick<Services, 'config'>, access: EndpointAccess): Promise<boolean> {
  const limits = { maxBytes: 1, timeoutMilliseconds: presenceMilliseconds }
  const response = await send(deps, access, { path: '/v1/models', ...limits })
  return !('body' in response) && absences.includes(response.httpStatus)
}

async function readList(
  deps: Pick<Services, 'config'>,
  access: EndpointAccess,
): Promise<{ models: EndpointModel[] } | Failure> {
  const request = { path: '/v1/models', maxBytes: listBytes, timeoutMilliseconds: listMilliseconds }
  const response = await send(deps, access, request)
  if (!('body' in response)) return response
  const models = readModelList(response.body.toString())
  return models === null ? invalid(`What ${request.path} answered is no list of models.`) : { models }
}

async function askModel(
  deps: Pick<Services, 'config'>,
  access: EndpointAccess,
  { name, type }: EndpointModel,
): Promise<EndpointAnswer | Failure> {
  const { path, input, results } = questions[type]
  const limits = { maxBytes: answerBytes, timeoutMilliseconds: answerMilliseconds }
  const startedAt = performance.now()
  let response = await send(deps, access, { path, ...limits, body: { model: name, ...input } })
  // Models that think take the limit only by its newer name, and need more for an answer.
  if (type === 'LLM' && 'httpStatus' in response && response.httpStatus === 400) {
    const { max_tokens: _, ...rest } = input
    response = await send(deps, access, {
      path,
      ...limits,
      body: { model: name, ...rest, max_completion_tokens: 16 },
    })
  }
  if (!('body' in response)) return { status: response.status, message: response.message }
  const parsed = (parseJson(response.body.toString()) ?? {}) as Record<string, unknown>
  const found = parsed[results]
  if (!Array.isArray(found) || found.length === 0) return invalid(`${path} answered without \`${results}\`.`)
  const { model, usage } = parsed as { model?: unknown; usage?: Record<string, unknown> | null }
  return {
    asked: name,
    model: typeof model === 'string' ? model.replaceAll(/\p{C}/gu, '').slice(0, 200) : null,
    milliseconds: Math.round(performance.now() - startedAt),
    inputTokens: readCount(usage?.['prompt_tokens']),
    outputTokens: readCount(usage?.['completion_tokens']),
  }
}

function readCount(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null
}

interface EndpointRequest {
  path: string
  body?: object
  maxBytes: number
  timeoutMilliseconds: number
}

/** Sends a request. Resolves to a complete response with status 200 and JSON, or to what came instead. */
async function send(
  { config }: Pick<Services, 'config'>,
  { baseUrl, header, key }: EndpointAccess,
  { path, body, maxBytes, timeoutMilliseconds }: EndpointRequest,
): Promise<OutgoingResponse | (Failure & { httpStatus?: number })> {
  const url = new URL(baseUrl + path)
  const authorization = toAuthorization({ header, key })
  const request: OutgoingRequest = {
    url,
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(authorization === null ? {} : { [header ?? 'authorization']: authorization }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    networks: config.endpoints.networks,
    certificates: config.endpoints.certificates,
    maxBytes,
  }
  try {
    return judge(path, await sendOutgoing(request, { proxy: config.proxy, timeoutMilliseconds }))
  } catch (error) {
    return { status: 'unreachable', message: describe(url, timeoutMilliseconds, error) }
  }
}

function judge(
  path: string,
  response: OutgoingResponse,
): OutgoingResponse | (Failure & { httpStatus: number }) {
  const { status: httpStatus, headers, end } = response
  if (httpStatus === 401 || httpStatus === 403) {
    return { status: 'refused', message: `${path} answered ${httpStatus}. Check the key.`, httpStatus }
  }
  if (httpStatus === 429 || httpStatus >= 500) {
    return { status: 'unreachable', message: `${path} answered ${httpStatus}. Try again later.`, httpStatus }
  }
  const redirect = httpStatus >= 300 && httpStatus < 400 ? ' Redirects are not followed.' : ''
  if (httpStatus !== 200) return { ...invalid(`${path} answered ${httpStatus}.${redirect}`), httpStatus }
  if (end === 'too_long') return { ...invalid(`What ${path} answered is too long.`), httpStatus }
  if (end === 'broken') {
    return { status: 'unreachable', message: `The response of ${path} was not complete in time.`, httpStatus }
  }
  const isJson = /^application\/(?:[\w.-]+\+)?json\b/i.test(String(headers['content-type'] ?? ''))
  return isJson ? response : { ...invalid(`${path} answered with something other than JSON.`), httpStatus }
}

function invalid(message: string): Failure {
  return { status: 'invalid', message }
}

function describe({ hostname }: URL, timeoutMilliseconds: number, error: unknown): string {
  if (error instanceof UnreachableAddressError) {
    return `${hostname} has an address that endpoints may not have. The operator can allow its network.`
  }
  if (error instanceof DOMException && error.name === 'TimeoutError') {
    return `The endpoint did not answer within ${timeoutMilliseconds / 1000} seconds.`
  }
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return `The endpoint could not be reached${code === '' ? '' : ` (${code})`}.`
}
