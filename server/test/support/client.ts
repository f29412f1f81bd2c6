import { randomBytes } from 'node:crypto'
import { assertDocumented } from './documented-errors.ts'

export interface Answer<Body = any> {
  status: number
  headers: Headers
  body: Body
}

/** An HTTP client with its own session cookie. */
export interface Client {
  /** The current `Cookie` header, or an empty string */
  cookie(): string
  setCookie(value: string): void
  request<Body = any>(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer<Body>>
  get<Body = any>(path: string): Promise<Answer<Body>>
  post<Body = any>(path: string, body?: unknown): Promise<Answer<Body>>
  patch<Body = any>(path: string, body?: unknown): Promise<Answer<Body>>
  delete<Body = any>(path: string): Promise<Answer<Body>>
}

/**
 * Sends a string or bytes unchanged and any other body as JSON. An error that openapi.json does not list
 * throws.
 */
export function createClient(url: string): Client {
  let cookie = ''

  async function request<Body>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer<Body>> {
    const response = await fetch(url + path, {
      method,
      redirect: 'manual',
      headers: {
        ...(cookie === '' ? {} : { cookie }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      body:
        body === undefined
          ? null
          : typeof body === 'string' || body instanceof Uint8Array
            ? (body as string)
            : JSON.stringify(body),
    })
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';', 1)
      cookie = pair.endsWith('=') ? '' : pair
    }
    const text = await response.text()
    const isJson = /json/.test(response.headers.get('content-type') ?? '')
    const answer = (isJson && text !== '' ? JSON.parse(text) : text) as Body
    assertDocumented(method, path, response.status, answer)
    return { status: response.status, headers: response.headers, body: answer }
  }

  return {
    cookie: () => cookie,
    setCookie: (value) => {
      cookie = value
    },
    request,
    get: (path) => request('GET', path),
    post: (path, body) => request('POST', path, body),
    patch: (path, body) => request('PATCH', path, body),
    delete: (path) => request('DELETE', path),
  }
}

/** Registers an account and returns its client. The account is super_admin of a new organization. */
export async function registerClient(
  url: string,
  details: { email?: string; organization?: string; name?: string } = {},
): Promise<Client & { email: string; password: string }> {
  const client = createClient(url)
  const email = details.email ?? `${randomBytes(6).toString('hex')}@example.com`
  const password = 'correct horse battery'
  const answer = await client.post('/v1/user/register', { email, password, organization: 'Acme', ...details })
  if (answer.status !== 200)
    throw new Error(`the registration returned ${answer.status}: ${JSON.stringify(answer.body)}`)
  return { ...client, email, password }
}
