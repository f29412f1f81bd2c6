import { vi } from 'vitest'
import { openShell } from '../../../../cli/test/support/command.ts'
import type { Shell } from '../../../../cli/test/support/command.ts'
import { registerClient } from '../../support/client.ts'
import type { Client } from '../../support/client.ts'
import { deploy } from '../../support/deployments.ts'
import { startTestServer } from '../../support/server.ts'
import type { TestServer } from '../../support/server.ts'

/** A server with both bundled models on the embedded engine, and a shell whose `berth` is signed in. */
export interface SignedIn {
  server: TestServer
  client: Client
  shell: Shell
  /** Id of the chat model's deployment */
  chatId: string
  /** Starts `berth connect`, which ends with the shell's test */
  connect(): Promise<{ url: string; key: string; close(): Promise<unknown> }>
  close(): Promise<void>
}

/** Starts a server, deploys the bundled models, and opens a shell. */
export async function signIn(): Promise<SignedIn> {
  const server = await startTestServer()
  const client = await registerClient(server.url)
  const [{ id: chatId }] = await Promise.all([deploy(client), deploy(client, 'berth-tiny-embedding')])
  const shell = await openShell({ BERTH_URL: server.url }, client)
  return {
    server,
    client,
    shell,
    chatId,
    async connect() {
      const { child, output, result } = shell.start(['connect', '--port', '0', '--json'])
      const { base_url: url, key } = await vi.waitFor(() => JSON.parse(output.stdout), { timeout: 60_000 })
      return { url, key, close: () => (child.kill('SIGINT'), result) }
    },
    async close() {
      await shell.close()
      await server.close()
    },
  }
}
