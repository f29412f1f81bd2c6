import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { registerClient } from '../../support/client.ts'
import type { Client } from '../../support/client.ts'
import { waitForStatus } from '../../support/deployments.ts'
import { writeRerankerCatalog } from '../../support/random-reranker.ts'
import { startTestServer } from '../../support/server.ts'
import type { TestServer } from '../../support/server.ts'
import { describeChatModel, describeReranker, openCluster } from './cluster.ts'
import type { XinferenceCluster } from './cluster.ts'

const startMilliseconds = 400_000
const template =
  '{% for message in messages %}<|{{ message.role }}|>{{ message.content }}<|im_end|>{% endfor %}<|assistant|>'
const tooLong = 'word '.repeat(4000)

let cluster: XinferenceCluster
let catalog: string
beforeAll(async () => {
  cluster = await openCluster({ XINFERENCE_ENABLE_VIRTUAL_ENV: '0' })
  catalog = await writeRerankerCatalog(cluster.folder)
  await copyFile(join(cluster.folder, 'reranker.gguf'), join(cluster.folder, 'weights/reranker.gguf'))
  await cluster.startSupervisor()
  await cluster.startWorker()
  await cluster.register('LLM', { ...describeChatModel(cluster.folder), chat_template: template })
  await cluster.register('rerank', describeReranker(cluster.folder))
})
afterAll(() => cluster?.close())

/** Deploys a model on the cluster, for the tests of a block. */
function useModel(model: string, settings: () => Record<string, string>) {
  const used = { model } as { model: string; id: string; server: TestServer; client: Client }
  beforeAll(async () => {
    const ofCluster = { RUNTIME: 'xinference', XINFERENCE_URLS: cluster.url }
    used.server = await startTestServer({ settings: { ...ofCluster, ...settings() } })
    used.client = await registerClient(used.server.url)
    const { body } = await used.client.post('/api/v1/model-deployments', { model_name: model })
    used.id = body.id
    await waitForStatus(used.client, used.id, 'running', startMilliseconds)
  })
  afterAll(async () => {
    await used.client.delete(`/api/v1/model-deployments/${used.id}`)
    await waitForStatus(used.client, used.id, 'terminated', startMilliseconds)
    await used.server.close()
  })
  const readUsage = async () => (await used.client.get(`/api/v1/model-deployments/${used.id}/usage`)).body
  return Object.assign(used, { readUsage })
}

describe('a chat model on a real Xinference', () => {
  const used = useModel('berth-tiny', () => ({}))
  const { model } = used
  const connect = () => {
    const defaultHeaders = { cookie: used.client.cookie() }
    const openai = { baseURL: `${used.server.url}/v1`, apiKey: 'any', defaultHeaders, maxRetries: 0 }
    const anthropic = { baseURL: used.server.url, apiKey: 'any', defaultHeaders, maxRetries: 0 }
    return { openai: new OpenAI(openai), anthropic: new Anthropic(anthropic) }
  }

  /** Runs requests one after the other, and expects that exactly their tokens are metered. */
  async function expectMetered(asked: readonly (() => Promise<{ input: number; output: number }>)[]) {
    const before = await used.readUsage()
    const after = {
      requests: before.requests,
      input_tokens: before.input_tokens,
      output_tokens: before.output_tokens,
    }
    for (const ask of asked) {
      const { input, output } = await ask()
      expect(Math.min(input, output)).toBeGreaterThan(0)
      after.requests += 1
      after.input_tokens += input
      after.output_tokens += output
    }
    await expect.poll(used.readUsage).toMatchObject(after)
  }

  test('/v1/completions: whole and streamed, metered', async () => {
    const { openai } = connect()
    const asked = { model, prompt: '<|user|>What is 27 + 15?<|assistant|>', max_tokens: 5, temperature: 0 }
    const count = (usage: OpenAI.CompletionUsage) => ({
      input: usage.prompt_tokens,
      output: usage.completion_tokens,
    })
    await expectMetered([
      async () => {
        const whole = await openai.completions.create(asked)
        expect(whole).toMatchObject({ choices: [{ text: expect.stringMatching(/./) }] })
        return count(whole.usage!)
      },
      async () => {
        const stream = { stream: true, stream_options: { include_usage: true } } as const
        const chunks = await Array.fromAsync(await openai.completions.create({ ...asked, ...stream }))
        return count(chunks.at(-1)!.usage!)
      },
    ])
  })

  test('/v1/responses: whole and streamed, metered', async () => {
    const { openai } = connect()
    const asked = { model, input: 'Hello!', temperature: 0, max_output_tokens: 16 }
    const count = ({ usage, ...response }: OpenAI.Responses.Response) => {
      expect(response).toMatchObject({ model, output_text: expect.stringMatching(/./) })
      return { input: usage!.input_tokens, output: usage!.output_tokens }
    }
    await expectMetered([
      async () => count(await openai.responses.create(asked)),
      async () => count(await openai.responses.stream(asked).finalResponse()),
    ])
  })

  test('/v1/messages: whole and streamed, metered', async () => {
    const { anthropic } = connect()
    const asked = {
      model,
      temperature: 0,
      max_tokens: 16,
      messages: [{ role: 'user' as const, content: 'Hello!' }],
    }
    const count = ({ usage, ...message }: Anthropic.Message) => {
      expect(message).toMatchObject({ model, content: [{ type: 'text', text: expect.stringMatching(/./) }] })
      return { input: usage.input_tokens + (usage.cache_read_input_tokens ?? 0), output: usage.output_tokens }
    }
    await expectMetered([
      async () => count(await anthropic.messages.create(asked)),
      async () => count(await anthropic.messages.stream(asked).finalMessage()),
    ])
  })

  test('/v1/completions: a prompt that is too long, or a list, is a 400', async () => {
    const { openai } = connect()
    await expect(openai.completions.create({ model, prompt: tooLong })).rejects.toMatchObject({
      status: 400,
      code: 'context_length_exceeded',
      message: expect.stringMatching(/maximum context length is \d+ tokens, but the input has \d+ tokens\./),
    })
    await expect(openai.completions.create({ model, prompt: ['a', 'b'] })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('str type expected'),
    })
  })

  test('what it has no route for is a 404 that names it', async () => {
    for (const [path, body] of [
      ['/tokenize', { prompt: 'Hello' }],
      ['/v1/messages/count_tokens', { messages: [{ role: 'user', content: 'Hello' }] }],
    ] as const) {
      const answer = await used.client.post(path, { model, ...body })
      expect(answer.status, JSON.stringify(answer.body)).toBe(404)
      expect(JSON.stringify(answer.body)).toContain('does not serve')
    }
  })
})

describe('a reranking model on a real Xinference', () => {
  const used = useModel('random-reranker', () => ({ CATALOG_FILE: catalog }))

  test('/v1/rerank: the most relevant documents come first, and the tokens are metered', async () => {
    const documents = ['a harbor', 'the dog', 'a ship', 'my good friend']
    const asked = { model: used.id, query: 'a ship', documents }
    const { status, body } = await used.client.post('/v1/rerank', asked)
    expect(status, JSON.stringify(body)).toBe(200)
    expect(body.results).toHaveLength(4)
    const scores = body.results.map(({ relevance_score }: { relevance_score: number }) => relevance_score)
    expect(scores).toEqual(scores.toSorted((one: number, other: number) => other - one))
    for (const { index, document } of body.results) expect(document).toEqual({ text: documents[index] })
    await expect.poll(used.readUsage).toMatchObject({ requests: 1, input_tokens: body.usage.prompt_tokens })
    const long = await used.client.post('/v1/rerank', { ...asked, documents: ['a', tooLong] })
    expect(long).toMatchObject({ status: 400, body: { error: { code: 'context_length_exceeded' } } })
  })
})
