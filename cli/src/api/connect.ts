import { notSignedIn, usageError } from '../base/errors.ts'
import { Client } from './client.ts'
import { keepKey } from './idempotency-keys.ts'
import { parseServerUrl } from './server-url.ts'
import { readSessions, storeSession } from './session-store.ts'

const defaultServer = 'http://localhost:8080'

/** The origin of the server that commands use: BERTH_URL, or that of the last sign-in. */
export async function findServer(env: NodeJS.ProcessEnv): Promise<string> {
  if (env['BERTH_URL'] || env['BERTH_SESSION']) return findOwnServer(env)
  return (await readSessions(env)).current ?? defaultServer
}

/** The origin of BERTH_URL, or of a server on this machine. Reads no file. */
export function findOwnServer(env: NodeJS.ProcessEnv): string {
  const own = env['BERTH_URL']
  return own ? parseServerUrl(own) : defaultServer
}

/** Creates a client with the person's session: BERTH_SESSION, or the stored one. Throws without one. */
export async function connectClient(env: NodeJS.ProcessEnv): Promise<Client> {
  const url = await findServer(env)
  const own = env['BERTH_SESSION']
  const keeps = { keepKey: (request: string) => keepKey(env, request) }
  if (own) return new Client(url, { cookie: parseCookie(own), ...keeps })
  const session = (await readSessions(env)).servers[url]
  if (session === undefined) throw notSignedIn(`You are not signed in to ${url}. Run \`berth login ${url}\`.`)
  return new Client(url, {
    ...keeps,
    cookie: session.cookie,
    // Without the new cookie, the session still lasts as long as it did.
    onRenewal: (cookie) => void storeSession(env, url, { ...session, cookie }).catch(() => {}),
  })
}

/** Checks the value of a `Cookie` header, as in `berth_session=…`. */
export function parseCookie(text: string): string {
  const cookie = text.trim()
  if (/^[\w!#$%&'*+.^`|~-]+=[\u0021-\u003A\u003C-\u007E]+$/.test(cookie)) return cookie
  throw usageError(
    'A session is the value of a Cookie header, such as berth_session=abc. Copy it from the account page.',
  )
}
