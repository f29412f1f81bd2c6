import { startRecordingEngine } from '../../../server/test/support/recording-engine.ts'
import type { RecordingEngine } from '../../../server/test/support/recording-engine.ts'
import { createScriptedRuntime } from '../../../server/test/support/scripted-runtime.ts'
import type { ScriptedRuntime } from '../../../server/test/support/scripted-runtime.ts'
import { startTestServer } from '../../../server/test/support/server.ts'
import type { TestServer } from '../../../server/test/support/server.ts'

/** A server whose deployments are ready at once, on one engine double. */
export interface ServerWithEngine {
  server: TestServer
  engine: RecordingEngine
  runtime: ScriptedRuntime
  close(): Promise<void>
}

/** Starts a server on an engine double. */
export async function startServerWithEngine(
  settings: Readonly<Record<string, string>> = {},
): Promise<ServerWithEngine> {
  const engine = await startRecordingEngine()
  const runtime = createScriptedRuntime(engine.url)
  const server = await startTestServer({ runtime, settings })
  return {
    server,
    engine,
    runtime,
    async close() {
      await server.close()
      await engine.close()
    },
  }
}

/** A chunk of a streamed answer, as a server-sent event. */
export function chunk(content: string, finish: string | null = null): string {
  const choices = [{ index: 0, delta: { content }, finish_reason: finish }]
  return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices })}\n\n`
}

/** A streamed answer of these pieces. */
export function streamed(...pieces: string[]): string {
  return `${pieces.map((piece) => chunk(piece)).join('')}${chunk('', 'stop')}data: [DONE]\n\n`
}
