import type { Answer } from './client.ts'

interface Cookie {
  name: string
  value: string
  path: string
  attributes: string[]
}

/** The parts of a browser that redirects need: a cookie jar per site that respects cookie paths. */
export interface Browser {
  /** Opens a URL or a path of Berth without following redirects. */
  open(address: string): Promise<Answer & { location: string }>
  /** A JSON request to Berth. */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>
  /** Submits a form of any site. */
  submit(address: string, fields: Record<string, string>): Promise<Answer & { location: string }>
  /** Follows redirects to the first URL that starts with `prefix` and returns it without opening it. */
  followTo(prefix: string, address: string): Promise<string>
  /** Returns Berth's cookie with this name. */
  cookie(name: string): Cookie | undefined
  setCookie(name: string, value: string, path: string): void
}

/** Opens a browser that reaches Berth at `site`, while the server listens at `serverUrl`. */
export function openBrowser(serverUrl: string, site: string): Browser {
  const jars = new Map<string, Map<string, Cookie>>()

  function jarOf(origin: string): Map<string, Cookie> {
    const jar = jars.get(origin) ?? new Map<string, Cookie>()
    jars.set(origin, jar)
    return jar
  }

  function storeCookie(origin: string, line: string): void {
    const [pair = '', ...attributes] = line.split(';').map((part) => part.trim())
    const name = pair.slice(0, pair.indexOf('='))
    const value = pair.slice(pair.indexOf('=') + 1)
    const path = attributes.find((each) => /^path=/i.test(each))?.slice(5) ?? '/'
    const key = `${name};${path}`
    const expired = attributes.some(
      (each) => /^expires=/i.test(each) && Date.parse(each.slice(8)) <= Date.now(),
    )
    if (expired || value === '') jarOf(origin).delete(key)
    else jarOf(origin).set(key, { name, value, path, attributes })
  }

  async function send(method: string, address: string, init: { body?: string; headers?: object } = {}) {
    const url = new URL(address, site)
    const cookies = [...jarOf(url.origin).values()].filter(({ path }) => matches(url.pathname, path))
    const target = url.origin === site ? new URL(url.pathname + url.search, serverUrl) : url
    const response = await fetch(target, {
      method,
      redirect: 'manual',
      ...init,
      headers: { cookie: cookies.map(({ name, value }) => `${name}=${value}`).join('; '), ...init.headers },
    })
    for (const line of response.headers.getSetCookie()) storeCookie(url.origin, line)
    const text = await response.text()
    const isJson = /json/.test(response.headers.get('content-type') ?? '')
    const location = response.headers.get('location')
    return {
      status: response.status,
      headers: response.headers,
      body: isJson && text !== '' ? JSON.parse(text) : text,
      location: location ?? '',
      next: location === null ? null : new URL(location, url).href,
    }
  }

  return {
    open: (address) => send('GET', address),
    post: (path, body, headers) =>
      send('POST', path, {
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json', ...headers },
      }),
    submit: (address, fields) =>
      send('POST', address, {
        body: new URLSearchParams(fields).toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      }),
    async followTo(prefix, address) {
      let next = address
      for (let hops = 0; hops < 10; hops += 1) {
        if (next.startsWith(prefix)) return next
        const answer = await send('GET', next)
        if (answer.next === null) throw new Error(`${next} returned ${answer.status}: ${answer.body}`)
        next = answer.next
      }
      throw new Error(`too many redirects after ${address}`)
    },
    cookie: (name) => [...jarOf(site).values()].find((cookie) => cookie.name === name),
    setCookie: (name, value, path) =>
      void jarOf(site).set(`${name};${path}`, { name, value, path, attributes: [] }),
  }
}

function matches(pathname: string, path: string): boolean {
  return path === '/' || pathname === path || pathname.startsWith(path.endsWith('/') ? path : `${path}/`)
}
