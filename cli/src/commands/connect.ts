import { randomBytes } from 'node:crypto'
import type { Model } from '../../../console/src/contract.ts'
import { ConnectionError } from '../api/client.ts'
import type { Client } from '../api/client.ts'
import { connectClient, findOwnServer } from '../api/connect.ts'
import { isReadable } from '../api/server-url.ts'
import { ServiceSession } from '../api/service-session.ts'
import type { Context } from '../base/context.ts'
import { CommandError } from '../base/errors.ts'
import { startProxy } from '../proxy/proxy.ts'
import type { Proxy } from '../proxy/proxy.ts'
import { Refusal } from '../proxy/refuse.ts'
import { describeProgram } from './programs.ts'

interface ConnectOptions {
  port: number
  /** false with --no-key */
  key?: string | boolean
  for?: string
  model?: string
  /** Sign in as a service member, with BERTH_EMAIL and BERTH_PASSWORD */
  service?: boolean
}

/** How long requests may finish after SIGTERM. Kubernetes kills a container after 30 seconds. */
const drainMilliseconds = 25_000

/** Serves inference on loopback with the session of a person or a service member, until it is interrupted. */
export async function connect(context: Context, options: ConnectOptions): Promise<void> {
  const { output } = context
  const key = readKey(options.key)
  const open = options.service ? openServiceConnection : openConnection
  const { proxy, client } = await open(context, key, options.port, () =>
    output.note('The server does not respond. Requests wait for it…'),
  )
  const baseUrl = `${proxy.url}/v1`
  output.result({ base_url: baseUrl, key }, () => {
    output.facts([
      ['OpenAI base URL', baseUrl],
      ['Anthropic base URL', proxy.url],
      ['Key', key ?? 'none: every program and local page can use the session'],
    ])
  })
  if (options.for !== undefined) {
    const model = await chooseModel(client, options.model)
    output.line('')
    output.line(describeProgram(options.for, { url: proxy.url, key: key ?? 'none', model }))
  }
  output.note(`Connected to ${client.url}. Ctrl-C ends the connection.`)
}

/** The model that a program gets: the one with a name or a deployment's id, or the first that chats. */
export async function chooseModel(client: Client, name: string | undefined): Promise<Model> {
  const { data } = await client.call('GET', '/v1/models')
  if (name === undefined) {
    const first = data.find(({ type }) => type === 'chat')
    if (first) return first
    throw new CommandError('No model that chats is running. Run `berth deploy MODEL --wait` first.')
  }
  const named = data.find(({ id, deployments }) => id === name || deployments.includes(name))
  if (named) return { ...named, id: name }
  const names = data.map(({ id }) => id).join(', ')
  throw new CommandError(`${name} is not running. Running models: ${names === '' ? 'none' : names}.`)
}

function readKey(key: string | boolean | undefined): string | null {
  if (key === false) return null
  return typeof key === 'string' ? key : createKey()
}

/** A key in the form that programs expect of OpenAI's. */
export function createKey(): string {
  return `sk-berth-${randomBytes(24).toString('base64url')}`
}

/** Starts a proxy with the person's session. Throws without one. */
export async function openConnection(
  { env }: Context,
  key: string | null,
  port: number,
  onOutage?: () => void,
) {
  const client = await connectClient(env)
  await client.call('GET', '/v1/auth/session')
  // A sign-in to another server does not redirect the programs.
  const own = { ...env, BERTH_URL: client.url }
  const readCookie = async () => (await connectClient(own)).cookie!
  const proxy: Proxy = await startProxy({ url: client.url, readCookie, key, port, onOutage })
  return { proxy, client }
}

/** Starts a proxy with a service member's session, which the proxy ends at SIGTERM. Stores no files. */
async function openServiceConnection(
  { env, output }: Context,
  key: string | null,
  port: number,
  onOutage: () => void,
) {
  const url = findOwnServer(env)
  if (isReadable(url)) output.note(`${url} is not encrypted: others on the network can read the password.`)
  const session = new ServiceSession(url, env, (text) => output.note(text))
  const client = await session.connect()
  const proxy = await startProxy({
    url,
    readCookie: () => session.readCookie().catch(refuseOutage),
    replaceCookie: (ended) => session.replaceCookie(ended).catch(refuseOutage),
    key,
    port,
    onOutage,
  })
  // The first process of a container ignores the signal otherwise.
  process.once('SIGTERM', () => {
    void proxy
      .drain(drainMilliseconds)
      .then(() => session.end())
      .finally(() => process.exit(0))
  })
  return { proxy, client }
}

/** A server that doesn't respond is no reason to sign in again. */
function refuseOutage(error: unknown): never {
  throw error instanceof ConnectionError ? new Refusal(502, 'server_unreachable', error.message) : error
}
