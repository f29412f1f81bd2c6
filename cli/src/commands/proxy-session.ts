import { ConnectionError } from '../api/client.ts'
import type { Client } from '../api/client.ts'
import { connectClient, findOwnServer } from '../api/connect.ts'
import { isReadable } from '../api/server-url.ts'
import { ServiceSession } from '../api/service-session.ts'
import type { Context } from '../base/context.ts'
import { notSignedIn } from '../base/errors.ts'
import type { ProxyOptions } from '../proxy/proxy.ts'
import { Refusal } from '../proxy/refuse.ts'

/** The session that a proxy adds to requests. */
export interface ProxySession extends Pick<ProxyOptions, 'readCookie' | 'replaceCookie'> {
  client: Client
  /** Ends the session if the proxy has begun it */
  end(): Promise<void>
}

/** A person's session. They may sign in again. Throws without one. `tell` gets its end once. */
export async function openPersonSession(
  { env }: Pick<Context, 'env'>,
  tell: (text: string) => void = () => {},
): Promise<ProxySession> {
  const client = await connectClient(env)
  await client.call('GET', '/v1/auth/session')
  // A sign-in to another server does not redirect the programs.
  const own = { ...env, BERTH_URL: client.url }
  let told: string | null = null
  const refuse = (ended: string): never => {
    const next = env['BERTH_SESSION'] ? 'Start it again with another BERTH_SESSION.' : 'Run `berth login`.'
    const message = `The session of \`berth connect\` has ended. ${next}`
    if (told !== ended) tell(message)
    told = ended
    throw notSignedIn(message)
  }
  let last = client.cookie!
  const readCookie = async () => {
    const { cookie } = await connectClient(own).catch(() => refuse(last))
    last = cookie!
    return last
  }
  return {
    client,
    readCookie,
    async replaceCookie(ended) {
      const cookie = await readCookie()
      return cookie === ended ? refuse(ended) : cookie
    },
    end: async () => {},
  }
}

/** The session of a service member, which signs in again when it ends. Stores no files. */
export async function openServiceSession({ env, output }: Context): Promise<ProxySession> {
  const url = findOwnServer(env)
  if (isReadable(url)) output.note(`${url} is not encrypted: others on the network can read the password.`)
  const session = new ServiceSession(url, env, (text) => output.note(text))
  return {
    client: await session.connect(),
    readCookie: () => session.readCookie().catch(refuseOutage),
    replaceCookie: (ended) => session.replaceCookie(ended).catch(refuseOutage),
    end: () => session.end(),
  }
}

/** A server that doesn't respond is no reason to sign in again. */
function refuseOutage(error: unknown): never {
  throw error instanceof ConnectionError ? new Refusal(502, 'server_unreachable', error.message) : error
}
