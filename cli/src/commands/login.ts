import { hostname } from 'node:os'
import type { Session } from '../../../console/src/contract.ts'
import { ApiError, Client } from '../api/client.ts'
import { findServer, parseCookie } from '../api/connect.ts'
import { isReadable, parseServerUrl } from '../api/server-url.ts'
import { checkSessionFile, storeSession } from '../api/session-store.ts'
import type { Context } from '../base/context.ts'
import { CommandError, usageError } from '../base/errors.ts'
import { askSecret, askText, isInteractive, readSecret } from '../base/prompt.ts'

interface LoginOptions {
  email?: string
  passwordStdin?: boolean
  code?: string
  sso?: boolean
}

/** Signs in, stores the session, and makes its server the current one. */
export async function login(
  context: Context,
  address: string | undefined,
  options: LoginOptions,
): Promise<void> {
  const { env, output } = context
  if (env['BERTH_SESSION'])
    throw usageError('BERTH_SESSION is set and would be used instead. Unset it first.')
  const url = address === undefined ? await findServer(env) : parseServerUrl(address)
  if (isReadable(url)) output.note(`${url} is not encrypted: others on the network can read what you send.`)
  await checkSessionFile(env)
  const { client, session } = await (options.sso ? takeSession(url, context) : signIn(url, options))
  await storeSession(env, url, { cookie: client.cookie!, email: session.user.email })
  output.result({ url, ...session }, () =>
    output.line(`Signed in to ${url} as ${session.user.email}, in ${session.user.organization}.`),
  )
}

interface SignedIn {
  client: Client
  session: Session
}

async function signIn(url: string, options: LoginOptions): Promise<SignedIn> {
  const email = options.email ?? (await askText('Email', 'Use --email.'))
  const password = options.passwordStdin
    ? await readSecret()
    : await askSecret('Password', 'Use --password-stdin, or set BERTH_SESSION.')
  const client = new Client(url, { cookie: null })
  const credentials = { email, password, code: options.code }
  try {
    return { client, session: await client.call('POST', '/v1/user/signin', { body: credentials }) }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const code = await askCode(error, url)
    return {
      client,
      session: await client.call('POST', '/v1/user/signin', { body: { ...credentials, code } }),
    }
  }
}

/** Asks for the code of the second factor that a sign-in lacks. Throws other errors again. */
async function askCode(error: ApiError, url: string): Promise<string> {
  if (error.code === 'password_sign_in_disabled') {
    throw new CommandError(`${error.message} Run \`berth login --sso ${url}\`.`)
  }
  if (error.code !== 'second_factor_required') throw error
  const factors = error.facts.second_factors ?? []
  if (!factors.some((factor) => factor !== 'passkey')) {
    throw new CommandError(`Passkeys need a browser. Run \`berth login --sso ${url}\`.`)
  }
  return askText('Code of your authenticator app, or a recovery code', 'Use --code.')
}

/** Takes a session that the person created in a browser, where single sign-on and passkeys work. */
async function takeSession(url: string, { output }: Context): Promise<SignedIn> {
  output.note(
    `Sign in at ${url}/profile#sessions-for-scripts in a browser, and create a session for scripts, ` +
      `such as “berth on ${hostname()}”. Copy its value, which begins with the name of the cookie.`,
  )
  const text = isInteractive() ? await askSecret('Session', '') : await readSecret()
  const client = new Client(url, { cookie: parseCookie(text) })
  return { client, session: await client.call('GET', '/v1/auth/session') }
}
