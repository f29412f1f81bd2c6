import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { vllmReasoningParsers, vllmToolParsers } from '../../src/features/catalog/engine-profiles.ts'
import { testAgentRoutes } from '../support/agent-routes.ts'
import type { AgentDeployment } from '../support/agent-routes.ts'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { waitForStatus } from '../support/deployments.ts'
import { vllmOptions } from '../support/engine-options.ts'
import type { TestServer } from '../support/server.ts'
import { describeModel, environment, patience, startVllmServer } from './vllm-server.ts'

const recording = join(import.meta.dirname, 'recording.json')

// Everything is a thought until deepseek_r1 reads </think>, which the bundled model never writes.
const models = [
  describeModel('tiny', 'tool_parser: hermes'),
  describeModel('thinker', 'reasoning_parser: deepseek_r1'),
  describeModel('ranker', '', 'rerank', 'berth/reranker'),
]

test('vLLM knows every parser that a catalog may name', () => {
  const list = `
import json
from vllm.reasoning import ReasoningParserManager
from vllm.tool_parsers import ToolParserManager
print(json.dumps([ToolParserManager.list_registered(), ReasoningParserManager.list_registered()]))`
  const output = execFileSync(join(environment, 'bin/python'), ['-c', list], { encoding: 'utf8' })
  const [tools, reasoning] = JSON.parse(output.trim().split('\n').at(-1)!) as [string[], string[]]
  expect(vllmToolParsers.filter((name) => !tools.includes(name))).toEqual([])
  expect(vllmReasoningParsers.filter((name) => !reasoning.includes(name))).toEqual([])
})

test('vLLM has every option that Berth and the catalog use', () => {
  const help = execFileSync(join(environment, 'bin/vllm'), ['serve', '--help=all'], { encoding: 'utf8' })
  const known = new Set(help.match(/--[a-z][a-z0-9-]+/g))
  expect(Object.keys(vllmOptions).filter((name) => !known.has(`--${name}`))).toEqual([])
})

describe('a deployment on a real vLLM', () => {
  let server: TestServer
  let client: Client
  let deployment: { id: string }
  const agents = { model: 'tiny', echoes: true } as AgentDeployment

  beforeAll(async () => {
    server = await startVllmServer(models)
    client = await registerClient(server.url)
    deployment = await deploy('tiny')
    Object.assign(agents, { serverUrl: server.url, client, id: deployment.id })
  })
  afterAll(async () => {
    await server?.close()
  })

  async function deploy(model_name: string) {
    const created = await client.post('/api/v1/model-deployments', { model_name })
    expect(created.status, JSON.stringify(created.body)).toBe(201)
    return await waitUntilRunning(created.body.id)
  }

  /** Loading takes minutes on a busy machine, but a failure ends the wait. */
  async function waitUntilRunning(id: string): Promise<{ id: string }> {
    const path = `/api/v1/model-deployments/${id}`
    const { body } = await vi.waitUntil(
      async () => {
        const answer = await client.get(path)
        return ['running', 'failed'].includes(answer.body.status) && answer
      },
      { timeout: patience, interval: 500 },
    )
    expect(body.status, JSON.stringify(body)).toBe('running')
    return body
  }

  const question = [{ role: 'user', content: 'What is 27 + 15?' }]
  const chat = (more: Record<string, unknown> = {}) =>
    client.post('/v1/chat/completions', {
      model: deployment.id,
      messages: question,
      temperature: 0,
      ...more,
    })

  async function findEngine(id: string): Promise<string> {
    const { instances } = (await client.get(`/api/v1/model-deployments/${id}`)).body
    const engine = await server.application.runtimes.all[0]!.observeEngine(instances[0].id)
    if (engine.phase !== 'ready') throw new Error(JSON.stringify(engine))
    return engine.endpoint.baseUrl
  }

  async function readMetric(id: string, name: string): Promise<number> {
    const text = await (await fetch(`${await findEngine(id)}/metrics`)).text()
    return Number(new RegExp(`^vllm:${name}\\{.*\\} (\\S+)$`, 'm').exec(text)?.[1])
  }

  test('answers and counts its tokens', async () => {
    const { status, body } = await chat()
    expect(status).toBe(200)
    expect(body).toMatchObject({
      choices: [{ message: { role: 'assistant', content: '27 + 15 = 42.' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 14, completion_tokens: 14 },
    })
  })

  test('streams, with usage only if the caller asks for it', async () => {
    const plain = await chat({ stream: true })
    expect(plain.body).toMatch(/"content":"2"[^]*"content":"7"[^]*data: \[DONE\]/)
    expect(plain.body).not.toContain('"usage":{')
    const counted = await chat({ stream: true, stream_options: { include_usage: true } })
    expect(counted.body).toMatch(/"usage":\{"prompt_tokens":14[^]*data: \[DONE\]/)
  })

  test('calls a tool', async () => {
    const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
    const tools = [{ type: 'function', function: { name: 'get_weather', parameters } }]
    const { status, body } = await chat({
      messages: [{ role: 'user', content: 'What is the weather in Paris?' }],
      tools,
      tool_choice: 'required',
    })
    expect(status, JSON.stringify(body)).toBe(200)
    expect(body.choices[0].message.tool_calls).toMatchObject([{ function: { name: 'get_weather' } }])
  })

  test('answers in the requested JSON schema', async () => {
    const schema = {
      type: 'object',
      properties: { sum: { type: 'integer' } },
      required: ['sum'],
      additionalProperties: false,
    }
    const { status, body } = await chat({
      response_format: { type: 'json_schema', json_schema: { name: 'sum', strict: true, schema } },
    })
    expect(status, JSON.stringify(body)).toBe(200)
    expect(JSON.parse(body.choices[0].message.content)).toEqual({ sum: expect.any(Number) })
  })

  testAgentRoutes(agents)

  test('an aborted stream ends the generation', async () => {
    const { id } = deployment
    const before = await readMetric(id, 'generation_tokens_total')
    const abort = new AbortController()
    const response = await fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', cookie: client.cookie() },
      body: JSON.stringify({
        model: id,
        messages: question,
        stream: true,
        // One answer of the tiny model could be complete before vLLM notices.
        n: 16,
        max_tokens: 450,
        ignore_eos: true,
      }),
      signal: abort.signal,
    })
    await response.body!.getReader().read()
    abort.abort()
    await vi.waitFor(async () => expect(await readMetric(id, 'num_requests_running')).toBe(0), 20_000)
    expect((await readMetric(id, 'generation_tokens_total')) - before).toBeLessThan(16 * 450)
  })

  test('a killed engine is replaced', async () => {
    const { id } = deployment
    const lines = execFileSync('ps', ['-eo', 'pid=,args='], { encoding: 'utf8' }).split('\n')
    const pids = lines.filter((line) => line.includes(id)).map((line) => parseInt(line, 10))
    expect(pids.length).toBeGreaterThan(0)
    for (const pid of pids) process.kill(pid, 'SIGKILL')
    expect((await chat()).status).toBeGreaterThanOrEqual(500)
    await vi.waitFor(async () => expect((await chat()).status).toBe(200), {
      timeout: patience,
      interval: 500,
    })
  })

  test('termination ends its processes', async () => {
    await client.delete(`/api/v1/model-deployments/${deployment.id}`)
    await waitForStatus(client, deployment.id, 'terminated', 60_000)
    const lines = execFileSync('ps', ['-eo', 'args='], { encoding: 'utf8' })
    expect(lines).not.toContain(deployment.id)
  })

  test('ranks documents, and counts their tokens', async () => {
    const { id } = await deploy('ranker')
    const documents = ['a harbor', { text: 'the dog' }, 'a ship', 'my good friend']
    const { status, body } = await client.post('/v1/rerank', {
      model: id,
      query: 'a ship',
      documents,
      top_n: 2,
    })
    expect(status, JSON.stringify(body)).toBe(200)
    expect(body).toMatchObject({ model: id, usage: { prompt_tokens: 31, total_tokens: 31 } })
    const [first, second] = body.results
    expect(first.relevance_score).toBeGreaterThan(second.relevance_score)
    expect(body.results).toHaveLength(2)
    const texts = ['a harbor', 'the dog', 'a ship', 'my good friend']
    for (const { index, document } of body.results) expect(document).toEqual({ text: texts[index] })
    await expect
      .poll(async () => (await client.get(`/api/v1/model-deployments/${id}/usage`)).body)
      .toMatchObject({ requests: 1, input_tokens: 31, output_tokens: 0 })
    expect((await client.post('/tokenize', { model: id, prompt: 'a ship' })).body.count).toBeGreaterThan(0)
    await client.delete(`/api/v1/model-deployments/${id}`)
    await waitForStatus(client, id, 'terminated', 60_000)
  })

  test('thoughts are in the field that the double uses', async () => {
    const { id } = await deploy('thinker')
    const body = { model: id, messages: question, temperature: 0 }
    const answer = await client.post('/v1/chat/completions', body)
    const stream = await client.post('/v1/chat/completions', { ...body, stream: true })
    const chunks = String(stream.body)
      .split('\n')
      .filter((line) => line.startsWith('data: {'))
      .map((line) => JSON.parse(line.slice(6)))
    const fields = (values: object[]) =>
      [...new Set(values.flatMap((value) => Object.keys(value)))].toSorted()
    const seen = {
      ...((await (await fetch(`${await findEngine(id)}/version`)).json()) as { version: string }),
      message: fields([answer.body.choices[0].message]),
      delta: fields(chunks.map((chunk) => chunk.choices[0].delta)),
    }
    if (process.env['RECORD'] === 'yes') writeFileSync(recording, `${JSON.stringify(seen, null, 2)}\n`)
    const recorded = JSON.parse(readFileSync(recording, 'utf8')) as typeof seen
    expect(seen).toEqual({ ...recorded, version: seen.version })
    expect(answer.body.choices[0].message).toMatchObject({ content: null, reasoning: '27 + 15 = 42.' })
    await client.delete(`/api/v1/model-deployments/${id}`)
    await waitForStatus(client, id, 'terminated', 60_000)
  })
})
