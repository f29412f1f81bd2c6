import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { waitForStatus } from '../support/deployments.ts'
import { listen } from '../support/listen.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'
import { patience } from './real-server.ts'
import type { Address, RealServer } from './real-server.ts'

const path = '/api/v1/model-deployments'
const messages = [{ role: 'user', content: 'What is 27 + 15?' }]
const greedy = { messages, temperature: 0, max_tokens: 32 }

/** Plays what Berth promises of endpoints against a real server; null skips it. */
export function playEndpoint(name: string, startReal: (() => Promise<RealServer>) | null): void {
  describe.skipIf(startReal === null)(`${name} as an endpoint`, () => {
    let real: RealServer
    let server: TestServer
    let admin: Client
    let endpointId: string
    let chatId: string
    beforeAll(async () => {
      real = await startReal!()
      server = await startTestServer({
        settings: { RUNTIME: 'endpoints', ENDPOINT_NETWORKS: '127.0.0.0/8' },
      })
      admin = await registerClient(server.url)
      endpointId = (await add('Real', real.chat)).id
      chatId = await deploy(real.chat.model)
    })
    afterAll(async () => {
      await server?.close()
      await real?.close()
    })

    async function add(endpointName: string, { url, key }: Address, more: object = {}) {
      const { status, body } = await admin.post('/api/v1/endpoints', {
        name: endpointName,
        base_url: `${url}/v1`,
        key,
        prices: { input: '1', output: '2' },
        ...more,
      })
      expect([status, body.status, body.status_message]).toEqual([201, 'ready', null])
      return body
    }

    async function deploy(model: string): Promise<string> {
      const { status, body } = await admin.post(path, { model_name: model })
      expect(status, JSON.stringify(body)).toBe(201)
      await waitForStatus(admin, body.id, 'running')
      return body.id
    }

    const chat = (more: object = {}, id = chatId) =>
      admin.post('/v1/chat/completions', { model: id, ...greedy, ...more })

    const readUsage = async (id = chatId) => (await admin.get(`${path}/${id}/usage`)).body

    /** The tokens that these requests are billed */
    async function bill(requests: number, send: () => Promise<unknown>, id = chatId) {
      // The usage of earlier requests is written a little later.
      await server.application.tokens.flush()
      const before = await readUsage(id)
      await send()
      await expect.poll(async () => (await readUsage(id)).requests).toBe(before.requests + requests)
      const after = await readUsage(id)
      const inputTokens: number = after.input_tokens - before.input_tokens
      const outputTokens: number = after.output_tokens - before.output_tokens
      expect(Number(after.cost) - Number(before.cost)).toBeCloseTo((inputTokens + 2 * outputTokens) / 1e6, 12)
      return { inputTokens, outputTokens }
    }

    test('a check finds the models, and one answers', async () => {
      const { status, body } = await admin.post(`/api/v1/endpoints/${endpointId}/check`)
      expect([status, body.endpoint.status], JSON.stringify(body)).toEqual([200, 'ready'])
      expect(body.endpoint.models).toContainEqual(
        expect.objectContaining({ name: real.chat.model, type: 'LLM' }),
      )
      expect(body.answer).toMatchObject({ asked: real.chat.model, output_tokens: 1 })
      expect(body.answer.input_tokens).toBeGreaterThan(0)
    })

    test('a chat costs the tokens that its response names', async () => {
      let usage: any
      const billed = await bill(1, async () => {
        const { status, body } = await chat()
        expect(status, JSON.stringify(body)).toBe(200)
        expect(body.choices[0]).toMatchObject({
          message: { role: 'assistant', content: expect.stringContaining('42') },
          finish_reason: 'stop',
        })
        ;({ usage } = body)
      })
      expect(billed).toEqual({ inputTokens: usage.prompt_tokens, outputTokens: usage.completion_tokens })
      expect(usage.prompt_tokens).toBeGreaterThan(5)
    })

    test('a stream has the usage once for those who ask for it, never for others, and is billed for both', async () => {
      const whole = (await chat()).body
      for (const asked of [true, false]) {
        let events: any[] = []
        const billed = await bill(1, async () => {
          const { status, body } = await chat({
            stream: true,
            ...(asked && { stream_options: { include_usage: true } }),
          })
          expect(status, JSON.stringify(body)).toBe(200)
          events = readEvents(body)
          expect(body).toMatch(/data: \[DONE\]\s*$/)
        })
        expect(events.map(textOf).join('')).toBe(whole.choices[0].message.content)
        const usages = events.flatMap(({ usage }) => usage ?? [])
        expect(usages).toHaveLength(asked ? 1 : 0)
        if (asked) expect(usages[0].completion_tokens).toBe(whole.usage.completion_tokens)
        expect(billed).toEqual({
          inputTokens: whole.usage.prompt_tokens,
          outputTokens: whole.usage.completion_tokens,
        })
      }
    })

    test('a stream whose usage nobody sends costs a token for each event with text', async () => {
      const relay = await startDeafRelay(real.chat.url)
      try {
        const { models } = await add('Deaf', { ...real.chat, url: relay.url })
        expect(models).toContainEqual(expect.objectContaining({ name: real.chat.model }))
        const id = await deploy(`deaf/${real.chat.model}`)
        let events: any[] = []
        const billed = await bill(
          1,
          async () => {
            events = readEvents((await chat({ stream: true }, id)).body)
          },
          id,
        )
        const texts = events.filter((event) => textOf(event) !== '')
        expect(texts.map(textOf).join('')).toContain('42')
        expect(billed).toEqual({ inputTokens: 0, outputTokens: texts.length })
      } finally {
        await relay.close()
      }
    })

    test('it calls a tool, also in a stream', async () => {
      const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
      const call = {
        messages: [{ role: 'user', content: 'What is the weather in Paris?' }],
        tools: [{ type: 'function', function: { name: 'get_weather', parameters } }],
        tool_choice: 'required',
        max_tokens: 300,
      }
      const { status, body } = await chat(call)
      expect(status, JSON.stringify(body)).toBe(200)
      const [called] = body.choices[0].message.tool_calls
      expect(called.function.name).toBe('get_weather')
      expect(JSON.parse(called.function.arguments)).toEqual({ city: expect.any(String) })
      const pieces = readEvents((await chat({ ...call, stream: true })).body).flatMap(
        ({ choices }) => choices[0]?.delta.tool_calls ?? [],
      )
      expect(pieces.map((piece) => piece.function.name ?? '').join('')).toBe('get_weather')
      expect(JSON.parse(pieces.map((piece) => piece.function.arguments ?? '').join(''))).toEqual({
        city: expect.any(String),
      })
    })

    test('it embeds texts, if it can', async ({ skip }) => {
      const { embedding, chat: other } = real
      if (embedding === null) return skip()
      if (embedding.url !== other.url) await add('Vectors', embedding)
      const id = await deploy(embedding.model)
      const ask = (body: object) => admin.post('/v1/embeddings', { model: id, ...body })
      let usage: any
      const billed = await bill(
        1,
        async () => {
          const { status, body } = await ask({ input: ['a ship', 'a harbor'] })
          expect(status, JSON.stringify(body)).toBe(200)
          expect(body.data.map((each: any) => each.embedding.length)).toEqual([128, 128])
          ;({ usage } = body)
        },
        id,
      )
      expect(billed).toEqual({ inputTokens: usage.prompt_tokens, outputTokens: 0 })
      const { body } = await ask({ input: 'a ship', encoding_format: 'base64' })
      expect(Buffer.from(body.data[0].embedding, 'base64')).toHaveLength(128 * 4)
    })

    test('an abort ends the generation, and the caller pays for what came', async () => {
      const before = await real.observe()
      const billed = await bill(1, async () => {
        const leaving = new AbortController()
        const response = await fetch(`${server.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', cookie: admin.cookie() },
          body: JSON.stringify({ model: chatId, ...greedy, stream: true, ...real.long.members }),
          signal: leaving.signal,
        })
        expect(response.status).toBe(200)
        let received = ''
        for await (const bytes of response.body!) {
          received += Buffer.from(bytes).toString()
          if (readEvents(received).some((event) => textOf(event) !== '')) break
        }
        leaving.abort()
        await expect.poll(async () => (await real.observe()).isBusy).toBe(false)
      })
      expect((await real.observe()).generated - before.generated).toBeLessThan(real.long.tokens)
      expect(billed.outputTokens).toBeGreaterThan(0)
      expect(billed.outputTokens).toBeLessThan(real.long.tokens)
    })

    test('its refusal of a prompt that is too long reaches the caller, who pays nothing', async () => {
      const before = await readUsage()
      const { status, body } = await chat({ messages: [{ role: 'user', content: 'word '.repeat(5_000) }] })
      expect([status, body.error?.message]).toEqual([400, expect.stringMatching(/context/i)])
      expect(JSON.stringify(body)).not.toContain(real.chat.key)
      expect((await chat()).status).toBe(200)
      await expect.poll(async () => (await readUsage()).requests).toBe(before.requests + 1)
    })

    test('a key that it does not know is the admin’s to change', async () => {
      const giveKey = (key: string) => admin.patch(`/api/v1/endpoints/${endpointId}`, { key })
      const { check, status, code } = real.unknownKey
      expect((await giveKey('sk-wrong-0123456789')).body.status).toBe(check)
      await expect
        .poll(async () => {
          const answer = await chat()
          return [answer.status, answer.body.error?.code]
        })
        .toEqual([status, code])
      expect((await giveKey(real.chat.key)).body.status).toBe('ready')
      await expect.poll(async () => (await chat()).status).toBe(200)
    })

    test('it is killed and comes back', async () => {
      await real.kill()
      const { status, body } = await chat()
      expect([status, body.error.code]).toEqual([502, 'upstream_unavailable'])
      const check = () => admin.post(`/api/v1/endpoints/${endpointId}/check`)
      expect((await check()).body.endpoint).toMatchObject({
        status: 'unreachable',
        models: expect.arrayContaining([expect.objectContaining({ name: real.chat.model })]),
      })
      await real.start()
      await expect.poll(async () => (await chat()).status, { timeout: patience }).toBe(200)
      expect((await check()).body.endpoint.status).toBe('ready')
      expect((await admin.get(`${path}/${chatId}`)).body.status).toBe('running')
    })
  })
}

const textOf = ({ choices }: any): string => choices[0]?.delta?.content ?? ''

/** The events of a stream as far as it came */
function readEvents(stream: string): any[] {
  return stream
    .split('\n\n')
    .slice(0, -1)
    .flatMap((event) => (event.startsWith('data: {') ? JSON.parse(event.slice(6)) : []))
}

/** Starts a relay to a server that loses `stream_options`, so that the server counts no stream. */
async function startDeafRelay(target: string) {
  const relay = createServer((request, response) => {
    void (async () => {
      const { method = '', url = '', headers } = request
      const { stream_options: _, ...body } = JSON.parse((await text(request)) || '{}')
      const answer = await fetch(target + url, {
        method,
        headers: {
          authorization: headers.authorization ?? '',
          ...(method === 'POST' && { 'content-type': 'application/json' }),
        },
        body: method === 'POST' ? JSON.stringify(body) : null,
      })
      response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' })
      await pipeline(Readable.fromWeb(answer.body as any), response)
    })().catch(() => response.destroy())
  })
  const port = await listen(relay)
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      relay.closeAllConnections()
      await new Promise((resolve) => relay.close(resolve))
    },
  }
}
