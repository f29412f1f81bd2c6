import { randomBytes } from 'node:crypto'
import { connectClient } from '../api/connect.ts'
import type { Context } from '../base/context.ts'
import { startProxy } from '../proxy/proxy.ts'
import type { Proxy } from '../proxy/proxy.ts'
import { chooseModel } from './connect/choose-model.ts'
import { describeProgram } from './connect/programs.ts'
import type { ProgramName } from './connect/programs.ts'

interface ConnectOptions {
  port: number
  /** false with --no-key */
  key?: string | boolean
  for?: ProgramName
  model?: string
}

/** Serves inference on loopback with the person's session, until it is interrupted. */
export async function connect(context: Context, options: ConnectOptions): Promise<void> {
  const { output } = context
  const key = readKey(options.key)
  const { proxy, client } = await openConnection(context, key, options.port, () =>
    output.note('The server does not respond. Requests wait for it…'),
  )
  const baseUrl = `${proxy.url}/v1`
  output.result({ base_url: baseUrl, key }, () => {
    output.facts([
      ['OpenAI base URL', baseUrl],
      ['Anthropic base URL', proxy.url],
      ['Key', key ?? 'none: every program and local page can use your session'],
    ])
  })
  if (options.for !== undefined) {
    const model = await chooseModel(client, options.model)
    output.line('')
    output.line(describeProgram(options.for, { url: proxy.url, key: key ?? 'none', model }))
  }
  output.note(`Connected to ${client.url}. Ctrl-C ends the connection.`)
}

function readKey(key: string | boolean | undefined): string | null {
  if (key === false) return null
  return typeof key === 'string' ? key : createKey()
}

/** A key in the form that programs expect of OpenAI's. */
export function createKey(): string {
  return `sk-berth-${randomBytes(24).toString('base64url')}`
}

/** Starts a proxy with the person's session. Throws if there is none. */
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
