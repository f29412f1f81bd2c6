import type { ServerResponse } from 'node:http'
import { expect } from 'vitest'
import type { Client } from './client.ts'
import type { ConfigChanges } from './change-config.ts'
import { waitForStatus } from './deployments.ts'
import { answerJson, startRecordingEngine } from './recording-engine.ts'
import type { RecordedRequest, RecordingEngine } from './recording-engine.ts'
import { createScriptedRuntime } from './scripted-runtime.ts'
import type { ScriptedRuntime } from './scripted-runtime.ts'
import { startTestServer } from './server.ts'
import type { TestServer } from './server.ts'

const path = '/api/v1/model-deployments'

/** What the engine of a deployment does. */
export type Behavior =
  | 'answers'
  /** Responds with 429 */
  | 'refuses'
  /** Breaks off before a response */
  | 'breaks'
  /** Accepts no connection */
  | 'is away'
  /** Never gets ready when it starts again */
  | 'starts'
  /** Fails to start */
  | 'fails'
  /** No longer has the model */
  | 'lost the model'
  /** Rejects its key */
  | 'rejects its key'

/** A deployment with its own engine. */
export interface Place {
  id: string
  engine: RecordingEngine
  behavior: Behavior
}

export interface OrderedAliases {
  server: TestServer
  runtime: ScriptedRuntime
  /** Deploys a model at its own engine. */
  open(owner: Client, model?: string): Promise<Place>
  /** Deploys a model whose first start fails, with an alias and a place in its order. */
  openFailed(owner: Client, alias: string, order: number): Promise<Place>
  /** Takes all room of a deployment until the returned function is called. */
  fill(owner: Client, place: Place): Promise<() => Promise<void>>
  close(): Promise<void>
}

const held = 'hold this request'
const usage = '"usage":{"prompt_tokens":1,"completion_tokens":1}'

/** A server whose deployments have one place each, at engines that the test controls. */
export async function startOrderedAliases(config: ConfigChanges = {}): Promise<OrderedAliases> {
  const scripted = createScriptedRuntime()
  const runtime: ScriptedRuntime = {
    ...scripted,
    readEngineError: ({ status, body }) =>
      status === 400 && body.includes('No such model') ? { isModelLost: true } : null,
  }
  const limits = { perInstance: 1, queueMilliseconds: 100, turnMilliseconds: 5_000 }
  const server = await startTestServer({ runtime, config: { inference: { limits }, ...config } })
  const places = new Map<string, Place>()
  let next: { engine: RecordingEngine; behavior: Behavior } | null = null

  const place = (id: string): Place => {
    const known = places.get(id)
    if (known !== undefined) return known
    const created = { id, ...next! }
    places.set(id, created)
    answerAs(created)
    return created
  }
  const serve = (id: string) => {
    const { behavior, engine } = place(id)
    if (behavior === 'starts') return { phase: 'starting', message: 'The engine starts.' } as const
    if (behavior === 'fails') {
      const message = 'The engine does not start.'
      return { phase: 'failed', stage: 'engine_startup', code: 'launch_rejected', message } as const
    }
    const baseUrl = behavior === 'is away' ? 'http://127.0.0.1:9' : engine.url
    return { phase: 'ready', endpoint: { baseUrl } } as const
  }
  runtime.answer({
    ensureEngine: ({ deploymentId }) => serve(deploymentId),
    observeEngine: (deploymentId) => serve(deploymentId),
  })

  async function create(owner: Client, model: string, behavior: Behavior): Promise<Place> {
    next = { engine: await startRecordingEngine(), behavior }
    const { status, body } = await owner.post(path, { model_name: model })
    expect(status, JSON.stringify(body)).toBe(201)
    return place(body.id)
  }

  return {
    server,
    runtime,
    async open(owner, model = 'berth-tiny') {
      const created = await create(owner, model, 'answers')
      await waitForStatus(owner, created.id, 'running')
      return created
    },
    async openFailed(owner, alias, order) {
      const created = await create(owner, 'berth-tiny', 'starts')
      const changed = await owner.patch(`${path}/${created.id}`, { alias, alias_order: order })
      expect(changed.status).toBe(200)
      created.behavior = 'fails'
      await waitForStatus(owner, created.id, 'failed')
      return created
    },
    async fill(owner, { id, engine }) {
      const before = engine.requests.length
      const asked = ask(owner, id, { content: held })
      // After a failed test, the server ends it.
      asked.catch(() => {})
      await expect.poll(() => engine.requests.length).toBe(before + 1)
      return async () => {
        release(engine)
        await asked
      }
    },
    async close() {
      await server.close()
      await Promise.all([...places.values()].map(({ engine }) => engine.close()))
    },
  }
}

const waiting = new WeakMap<RecordingEngine, ServerResponse[]>()

/** Ends the requests that fill a deployment. */
function release(engine: RecordingEngine): void {
  for (const response of waiting.get(engine) ?? []) answerJson(response, `{"choices":[],${usage}}`)
  waiting.delete(engine)
}

function answerAs(place: Place): void {
  const { engine } = place
  engine.answer((response, request) => {
    if (request.body.includes(held)) {
      waiting.set(engine, [...(waiting.get(engine) ?? []), response])
    } else if (place.behavior === 'breaks') response.destroy()
    else if (place.behavior === 'refuses') answerJson(response, '{"error":{"message":"full"}}', 429)
    else if (place.behavior === 'rejects its key') answerJson(response, '{}', 401)
    else if (place.behavior === 'lost the model') {
      answerJson(response, '{"detail":"No such model"}', 400)
    } else answerChat(response, request, place.id)
  })
}

/** The answer of a chat names the deployment. */
function answerChat(response: ServerResponse, { body }: RecordedRequest, id: string): void {
  if (!JSON.parse(body).stream) {
    return answerJson(response, `{"choices":[{"message":{"content":"${id}"}}],${usage}}`)
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const chunk = `{"choices":[{"delta":{"content":"${id}"},"finish_reason":"stop"}]}`
  response.end(`data: ${chunk}\n\ndata: {"choices":[],${usage}}\n\ndata: [DONE]\n\n`)
}

/** Sends a chat. */
export function ask(
  client: Client,
  model: string,
  {
    content = 'Hello',
    headers = {},
    ...fields
  }: { content?: unknown; headers?: Record<string, string>; stream?: boolean } = {},
) {
  const body = { model, messages: [{ role: 'user', content }], ...fields }
  return client.request('POST', '/v1/chat/completions', body, headers)
}

/** Gives deployments an alias, in their order. */
export async function order(owner: Client, alias: string, places: readonly Place[]): Promise<void> {
  for (const [index, { id }] of places.entries()) {
    const changed = await owner.patch(`${path}/${id}`, { alias, alias_order: index + 1 })
    expect(changed.status, JSON.stringify(changed.body)).toBe(200)
  }
}
