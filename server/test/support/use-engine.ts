import { afterAll, beforeAll } from 'vitest'
import type { RuntimeEngine } from '../../src/ports/runtime-engine.ts'
import { registerClient } from './client.ts'
import type { Client } from './client.ts'
import { deploy } from './deployments.ts'
import { engines } from './engines.ts'
import { startRecordingEngine } from './recording-engine.ts'
import type { RecordingEngine } from './recording-engine.ts'
import { createScriptedRuntime } from './scripted-runtime.ts'
import { startTestServer } from './server.ts'
import type { TestServer } from './server.ts'

/** Starts a server whose deployments run on this engine, and a deployment. */
export function useEngine(facts: Partial<RuntimeEngine>) {
  const used = {} as { engine: RecordingEngine; server: TestServer; client: Client; id: string }
  beforeAll(async () => {
    used.engine = await startRecordingEngine()
    const runtime = {
      ...createScriptedRuntime(used.engine.url),
      engines: [{ ...engines.llamaCpp, ...facts }],
    }
    used.server = await startTestServer({ runtime })
    used.client = await registerClient(used.server.url)
    used.id = (await deploy(used.client)).id
  })
  afterAll(async () => {
    await used.server.close()
    await used.engine.close()
  })
  return used
}
