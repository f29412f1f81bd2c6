import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { registerClient } from '../../../support/client.ts'
import { deploy } from '../../../support/deployments.ts'
import { answerJson, startRecordingEngine } from '../../../support/recording-engine.ts'
import type { RecordingEngine } from '../../../support/recording-engine.ts'
import { createScriptedRuntime } from '../../../support/scripted-runtime.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const path = '/v1/chat/completions'
const traceId = '0af7651916cd43dd8448eb211c80319c'

let engine: RecordingEngine
let collector: RecordingEngine
let server: TestServer
beforeAll(async () => {
  engine = await startRecordingEngine()
  collector = await startRecordingEngine()
  const settings = { OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/base/` }
  server = await startTestServer({ runtime: createScriptedRuntime(engine.url), settings })
})
afterAll(async () => {
  await server.close()
  await engine.close()
  await collector.close()
})

test('a request is a span in the caller’s trace, the parent of the engine’s span, and contains no prompt or completion', async () => {
  const client = await registerClient(server.url)
  const { id } = await deploy(client)
  engine.answer((response) =>
    answerJson(response, '{"usage":{"prompt_tokens":3,"completion_tokens":4},"secret":1}'),
  )
  const traceparent = `00-${traceId}-b7ad6b7169203331-01`
  await client.request('POST', path, { model: id, messages: ['secret'] }, { traceparent })
  const [, , spanId] = String(engine.last().headers['traceparent']).split('-')
  expect(engine.last().headers['traceparent']).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`))
  expect(spanId).not.toBe('b7ad6b7169203331')
  await vi.waitFor(() => expect(collector.requests).not.toHaveLength(0), { timeout: 20_000 })
  expect(collector.last().path).toBe('/base/v1/traces')
  const [span] = JSON.parse(collector.last().body).resourceSpans[0].scopeSpans[0].spans
  expect(span).toMatchObject({ traceId, spanId, parentSpanId: 'b7ad6b7169203331', name: 'chat berth-tiny' })
  const attributes = Object.fromEntries(
    span.attributes.map(({ key, value }: { key: string; value: object }) => [key, Object.values(value)[0]]),
  )
  expect(attributes).toMatchObject({
    'http.route': path,
    'http.response.status_code': 200,
    'gen_ai.usage.input_tokens': 3,
    'gen_ai.usage.output_tokens': 4,
    'berth.deployment.id': id,
  })
  expect(collector.last().body).not.toContain('secret')
})
