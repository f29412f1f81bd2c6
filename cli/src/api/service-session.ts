import { readFile } from 'node:fs/promises'
import { CommandError, describeFileError, notSignedIn, usageError } from '../base/errors.ts'
import { ApiError, Client } from './client.ts'
import { Patience } from './patience.ts'

/** A refused password rests this long, because ten failures lock the account for a quarter of an hour. */
const pauseAfterRefusal = 120_000

/** The session of a service member: signs in on the first use, and after the server ends the session. */
export class ServiceSession {
  readonly #url: string
  readonly #env: NodeJS.ProcessEnv
  readonly #note: (text: string) => void
  #current: Promise<Client> | null = null
  #refused: { password: string; at: number; error: CommandError } | null = null

  constructor(url: string, env: NodeJS.ProcessEnv, note: (text: string) => void) {
    this.#url = url
    this.#env = env
    this.#note = note
  }

  /** A client with the session. Requests at the same time share one sign-in. */
  connect(): Promise<Client> {
    if (this.#current !== null) return this.#current
    const current = this.#signIn()
    this.#current = current
    current.catch(() => this.#forget(current))
    return current
  }

  /** The value of the `Cookie` header */
  async readCookie(): Promise<string> {
    return (await this.connect()).cookie!
  }

  /** Signs in again, unless another request has done so since this cookie's session ended. */
  async replaceCookie(ended: string): Promise<string> {
    const current = this.#current
    if (current !== null && (await current).cookie === ended) this.#forget(current)
    return this.readCookie()
  }

  /** Ends the session at the server, if it responds. */
  async end(): Promise<void> {
    const client = await this.#current?.catch(() => null)
    await client?.call('POST', '/v1/user/logout', { signal: AbortSignal.timeout(2_000) }).catch(() => {})
  }

  #forget(current: Promise<Client>): void {
    if (this.#current === current) this.#current = null
  }

  async #signIn(): Promise<Client> {
    const { email, password } = await readCredentials(this.#env)
    const refused = this.#refused
    if (refused?.password === password && Date.now() - refused.at < pauseAfterRefusal) throw refused.error
    const client = new Client(this.#url, { cookie: null })
    try {
      const { user } = await new Patience(this.#note).call(() =>
        client.call('POST', '/v1/user/signin', { body: { email, password } }),
      )
      if (user.kind === 'service') return client
      await client.call('POST', '/v1/user/logout')
      throw usageError(
        `${email} is a person. People run \`berth login\`, and \`berth connect\` without --service.`,
      )
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      const described = describeRefusal(error, email)
      this.#refused = { password, at: Date.now(), error: described }
      throw described
    }
  }
}

function describeRefusal(error: ApiError, email: string): CommandError {
  if (error.code !== 'invalid_credentials') return error
  return notSignedIn(`The password of ${email} is wrong, or was replaced. Set BERTH_PASSWORD to the new one.`)
}

/** Reads the credentials from the environment. A file is read at each sign-in, so that it may change. */
async function readCredentials(env: NodeJS.ProcessEnv): Promise<{ email: string; password: string }> {
  const email = env['BERTH_EMAIL']
  if (!email) throw usageError('Set BERTH_EMAIL to the email of a service member.')
  const file = env['BERTH_PASSWORD_FILE']
  if (file) return { email, password: await readPasswordFile(file) }
  const password = env['BERTH_PASSWORD']
  if (password) return { email, password }
  throw usageError(
    'Set BERTH_PASSWORD to the password of the service member, or BERTH_PASSWORD_FILE to its file.',
  )
}

async function readPasswordFile(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (error) {
    throw new CommandError(`BERTH_PASSWORD_FILE can't be read: ${file}: ${describeFileError(error)}.`)
  }
}
