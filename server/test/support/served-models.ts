import { startCloudProvider } from './cloud-provider.ts'
import { registerClient } from './client.ts'
import type { Client } from './client.ts'
import { deploy } from './deployments.ts'
import { startTestServer } from './server.ts'
import type { TestServer } from './server.ts'

/** Whether an endpoint serves the models, and not the engines of the server */
export const isOutside = process.env['TEST_CLIENTS_OF'] === 'endpoint'
const prefix = isOutside ? 'cloud/' : ''

export const chatModel = `${prefix}berth-tiny`
export const embeddingModel = `${prefix}berth-tiny-embedding`

/** A server with a deployment of each model */
export interface ServedModels {
  server: TestServer
  client: Client
  /** The id of the deployment of `chatModel` */
  id: string
  close(): Promise<void>
}

/** Starts a server for tests of clients. With `TEST_CLIENTS_OF=endpoint`, a cloud provider has its models. */
export async function serveModels(): Promise<ServedModels> {
  await using cleanUp = new AsyncDisposableStack()
  const settings = isOutside ? { RUNTIME: 'endpoints', ENDPOINT_NETWORKS: '127.0.0.0/8' } : {}
  const server = cleanUp.adopt(await startTestServer({ settings }), (started) => started.close())
  const client = await registerClient(server.url)
  if (isOutside) {
    const names = { chat: 'berth-tiny', embedding: 'berth-tiny-embedding' }
    const provider = cleanUp.adopt(await startCloudProvider(names), (started) => started.close())
    const { url, key } = provider.chat
    await client.post('/api/v1/endpoints', { name: 'Cloud', base_url: `${url}/v1`, key })
  }
  const [{ id }] = await Promise.all([deploy(client, chatModel), deploy(client, embeddingModel)])
  const started = cleanUp.move()
  return { server, client, id, close: () => started.disposeAsync() }
}
