import { randomBytes } from 'node:crypto'
import { isIP } from 'node:net'
import type { Model } from '../../../console/src/contract.ts'
import type { Client } from '../api/client.ts'
import type { Context } from '../base/context.ts'
import { CommandError, usageError } from '../base/errors.ts'
import { isLoopbackAddress } from '../proxy/guard.ts'
import { startProxy } from '../proxy/proxy.ts'
import type { Proxy } from '../proxy/proxy.ts'
import { describeProgram } from './programs.ts'
import { openPersonSession, openServiceSession } from './proxy-session.ts'

interface ConnectOptions {
  port: number
  /** The address to listen on; omitted for loopback */
  host?: string
  /** false with --no-key */
  key?: string | boolean
  for?: string
  model?: string
  /** Sign in as a service member, with BERTH_EMAIL and BERTH_PASSWORD */
  service?: boolean
  /** The header with which the programs name the person they serve */
  memberHeader?: string
}

/** How long requests may finish after SIGTERM. Kubernetes kills a container after 30 seconds. */
const drainMilliseconds = 25_000
/** The least length of a key that others on the network may guess */
const leastKeyLength = 20

/** Serves inference with the session of a person or a service member until it is interrupted. */
export async function connect(context: Context, options: ConnectOptions): Promise<void> {
  const { output } = context
  const { port, host, service: isService, memberHeader } = options
  if (memberHeader !== undefined && !isService)
    throw usageError('--member-header needs --service: a person asks for nobody else.')
  const key = readKey(options)
  const tell = (text: string) => output.note(text)
  const session = await (isService ? openServiceSession(context) : openPersonSession(context, tell))
  const { client, readCookie, replaceCookie } = session
  const onOutage = () => output.note('The server does not respond. Requests wait for it…')
  try {
    const model = options.for === undefined ? null : await chooseModel(client, options.model)
    const proxy = await startProxy({
      url: client.url,
      readCookie,
      replaceCookie,
      key,
      memberHeader,
      host,
      port,
      onOutage,
    })
    if (isService) endAtSignal(proxy, () => session.end())
    const baseUrl = `${proxy.url}/v1`
    const settings = model && describeProgram(options.for!, { url: proxy.url, key: key ?? 'none', model })
    output.result({ base_url: baseUrl, key, ...(settings !== null && { settings }) }, () => {
      output.facts([
        ['OpenAI base URL', baseUrl],
        ['Anthropic base URL', proxy.url],
        ['Key', key ?? 'none: every program and local page can use the session'],
      ])
      if (settings !== null) output.line(`\n${settings}`)
    })
  } catch (error) {
    await session.end()
    throw error
  }
  if (isOpen(host)) output.note(`Who reaches ${host} can read what passes: it is not encrypted.`)
  output.note(`Connected to ${client.url}. Ctrl-C ends the connection.`)
}

/** The first process of a container ignores the signal otherwise. */
function endAtSignal(proxy: Proxy, end: () => Promise<void>): void {
  process.once('SIGTERM', () => {
    void proxy
      .drain(drainMilliseconds)
      .then(end)
      .finally(() => process.exit(0))
  })
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

/** The key of the options, or a new one. Beyond loopback, others could use the session without a good one. */
function readKey({ key, host }: ConnectOptions): string | null {
  if (host !== undefined && isIP(host) === 0)
    throw usageError('--host takes an address of this machine, such as 172.17.0.1.')
  if (key === false && isOpen(host))
    throw usageError('--host needs a key: others on its network could use your session.')
  if (key === false) return null
  if (typeof key !== 'string') return createKey()
  if (isOpen(host) && key.length < leastKeyLength)
    throw usageError(
      `With --host, a key has at least ${leastKeyLength} characters. Without --key, it is random.`,
    )
  return key
}

/** Whether other machines or containers may reach the address. */
function isOpen(host: string | undefined): boolean {
  return host !== undefined && !isLoopbackAddress(host)
}

/** A key in the form that programs expect of OpenAI's. */
export function createKey(): string {
  return `sk-berth-${randomBytes(24).toString('base64url')}`
}

/** Starts a proxy on loopback with the person's session, for one program. Throws without a session. */
export async function openConnection({ env }: Context, key: string): Promise<Proxy> {
  const { client, ...session } = await openPersonSession({ env })
  return startProxy({ ...session, url: client.url, key, port: 0 })
}
