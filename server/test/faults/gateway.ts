import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { expect } from 'vitest'
import { createProcessCensus, waitUntilDrained } from '../support/census.ts'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { deploy } from '../support/deployments.ts'
import { startMisbehavingEngine, composeResponse } from '../support/misbehaving-engine.ts'
import type { MisbehavingEngine } from '../support/misbehaving-engine.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import type { ConfigChanges } from '../support/change-config.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

export const path = '/v1/chat/completions'

/** A server with one deployment, whose engine is scripted by the test. */
export interface Gateway {
  engine: MisbehavingEngine
  server: TestServer
  /** The owner of the deployment */
  client: Client
  /** Id of the deployment */
  id: string
  /** Waits until no request and no connection is left. */
  drained(): Promise<void>
  /** Expects that the process holds no more sockets, timers and memory than before the tests. */
  expectUnchanged(): Promise<void>
  close(): Promise<void>
}

export async function startGateway(config: ConfigChanges): Promise<Gateway> {
  const engine = await startMisbehavingEngine()
  const server = await startTestServer({ runtime: createScriptedRuntime(engine.url), config })
  const client = await registerClient(server.url)
  const { id } = await deploy(client)
  // The first request loads modules and opens connections that stay open.
  engine.answer((socket) => socket.write(composeResponse('{}')))
  expect((await client.post(path, { model: id })).status).toBe(200)
  const drained = () => waitUntilDrained(server, engine)
  await drained()
  const census = await createProcessCensus()
  return {
    engine,
    server,
    client,
    id,
    drained,
    async expectUnchanged() {
      await drained()
      await census.expectUnchanged()
    },
    async close() {
      await server.close()
      await engine.close()
    },
  }
}

/** Opens a connection to the server on which the test writes raw bytes. */
export async function openRawSocket(url: string): Promise<Socket & { text(): string }> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  await once(socket, 'connect')
  let received = ''
  socket.setEncoding('latin1').on('error', () => {})
  socket.on('data', (text: string) => {
    received += text
  })
  return Object.assign(socket, { text: () => received })
}
