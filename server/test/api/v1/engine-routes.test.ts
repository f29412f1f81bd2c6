import { describe, expect, test } from 'vitest'
import { registerClient } from '../../support/client.ts'
import { generationFields } from '../../../src/ports/runtime-engine.ts'
import { deploy } from '../../support/deployments.ts'
import { engines } from '../../support/engines.ts'
import { answerJson } from '../../support/recording-engine.ts'
import { createScriptedRuntime } from '../../support/scripted-runtime.ts'
import { startTestServer } from '../../support/server.ts'
import { useEngine } from '../../support/use-engine.ts'

describe('the embedded engine', () => {
  const used = useEngine(engines.embedded)

  test('it ignores no field, whatever the engine does that it is built on', async () => {
    const { engine, client, id } = used
    engine.answer((response) => answerJson(response, '{}'))
    for (const field of generationFields) {
      const answer = await client.post('/v1/completions', { model: id, prompt: 'a', [field]: 'x' })
      expect([field, answer.status]).toEqual([field, 200])
      expect(JSON.parse(engine.last().body)).toHaveProperty(field, 'x')
    }
  })
})

describe('llama-server', () => {
  const used = useEngine({ version: '11669' })

  async function readContext(): Promise<number> {
    const { body } = await used.client.get('/v1/models')
    return body.data[0].max_model_len
  }

  test.each([
    ['/v1/chat/completions', { messages: [] }, ['max_tokens', 'max_completion_tokens']],
    ['/v1/completions', { prompt: 'a' }, ['max_tokens']],
    ['/v1/messages', { messages: [] }, ['max_tokens']],
  ])(
    '%s: the most tokens are limited to the context, which some engines require',
    async (path, given, names) => {
      const { engine, client, id } = used
      const context = await readContext()
      engine.answer((response) => answerJson(response, '{}'))
      for (const [asked, sent] of [
        [32_000, context],
        [context, context],
        [7, 7],
        [null, null],
        ['many', 'many'],
      ]) {
        const limits = Object.fromEntries(names.map((name) => [name, asked]))
        await client.post(path, { model: id, ...given, ...limits, input: { max_tokens: 1e9 } })
        expect(engine.last().path).toBe(path)
        expect(JSON.parse(engine.last().body)).toEqual({
          model: 'berth-tiny',
          ...given,
          ...Object.fromEntries(names.map((name) => [name, sent])),
          input: { max_tokens: 1e9 },
        })
      }
    },
  )

  test.each([
    ['/v1/completions', { echo: true }],
    ['/v1/completions', { suffix: 'the end' }],
    ['/v1/chat/completions', { guided_json: { type: 'object', description: 'x'.repeat(20_000) } }],
    ['/v1/chat/completions', { guided_regex: 'a+' }],
    ['/v1/chat/completions', { min_tokens: 3 }],
    ['/v1/completions', { truncate_prompt_tokens: 100 }],
    ['/v1/chat/completions', { modalities: ['text', 'audio'], audio: { voice: 'x' } }],
    ['/v1/responses', { structured_outputs: { choice: ['a'] } }],
    ['/v1/messages', { guided_choice: ['a', 'b'] }],
  ])('%s: a field that the engine would ignore is a 400 that names it: %j', async (path, more) => {
    const { engine, client, id } = used
    const received = engine.requests.length
    const ask = { model: id, prompt: 'a', input: 'a', messages: [], max_tokens: 1, ...more }
    const { status, body } = await client.post(path, ask)
    expect([status, body.error.type]).toEqual([400, 'invalid_request_error'])
    expect(body.error.message).toContain(`\`${Object.keys(more)[0]}\` is not supported by llama.cpp`)
    expect(engine.requests).toHaveLength(received)
  })

  test('fields that engines of embeddings would ignore are a 400 that names them, and the rest is forwarded', async () => {
    const { engine, client } = used
    const { id } = await deploy(client, 'berth-tiny-embedding')
    engine.answer((response) => answerJson(response, '{"data":[{"index":0,"embedding":[1]}]}'))
    const embed = (more: object) => client.post('/v1/embeddings', { model: id, input: 'a', ...more })
    const fields = { dimensions: 64, truncate: 'END', truncate_prompt_tokens: 8, truncation: true }
    for (const [param, value] of Object.entries(fields)) {
      const refused = await embed({ [param]: value })
      expect(refused).toMatchObject({ status: 400, body: { error: { param } } })
      expect(refused.body.error.message).toContain('is not supported by llama.cpp')
    }
    const ask = { truncate: 'NONE', truncation: false, dimensions: null, user: 'x', suffix: 'y' }
    expect((await embed(ask)).status).toBe(200)
    expect(JSON.parse(engine.last().body)).toMatchObject(ask)
    // A field of OpenAI's responses that has another meaning there
    engine.answer((response) => answerJson(response, '{}'))
    const response = await client.post('/v1/completions', { model: used.id, prompt: 'a', truncation: 'auto' })
    expect(response.status).toBe(200)
    await client.delete(`/api/v1/model-deployments/${id}`)
  })

  test('fields that the engine honors, and empty ones, are forwarded', async () => {
    const { engine, client, id } = used
    engine.answer((response) => answerJson(response, '{}'))
    const ask = {
      prompt: 'a',
      logit_bias: { 1: 5 },
      ignore_eos: true,
      echo: false,
      suffix: null,
      min_tokens: 0,
      modalities: ['text'],
      audio: {},
      guided_choice: [],
    }
    expect((await client.post('/v1/completions', { model: id, ...ask })).status).toBe(200)
    expect(JSON.parse(engine.last().body)).toEqual({ model: 'berth-tiny', ...ask })
  })

  test.each([
    ['a tool of Anthropic’s servers', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
    ['the schema of the answer', { output_config: { format: { type: 'json_schema', schema: {} } } }],
    ['the schema, as before', { output_format: { type: 'json_schema', schema: {} } }],
  ])('messages with %s are translated, because engines don’t do these in full', async (_name, more) => {
    const { engine, client, id } = used
    const message = { role: 'assistant', content: '{}' }
    const choices = [{ index: 0, message, finish_reason: 'stop' }]
    engine.answer((response) => answerJson(response, JSON.stringify({ choices })))
    const body = { model: id, max_tokens: 32_000, messages: [{ role: 'user', content: 'Hi' }], ...more }
    expect((await client.post('/v1/messages', body)).body).toMatchObject({
      type: 'message',
      content: [{ type: 'text', text: '{}' }],
    })
    expect(engine.last().path).toBe('/v1/chat/completions')
    const sent = JSON.parse(engine.last().body)
    expect(sent.max_tokens).toBe(await readContext())
    expect(sent.tools).toBeUndefined()
    expect('response_format' in sent).toBe(!('tools' in more))
  })

  test('messages with an effort and plain words pass through', async () => {
    const { engine, client, id } = used
    engine.answer((response) => answerJson(response, '{}'))
    const messages = [{ role: 'user', content: '{"type":"web_search_20250305"}' }]
    await client.post('/v1/messages', { model: id, messages, output_config: { effort: 'low' } })
    expect(engine.last().path).toBe('/v1/messages')
  })

  test('responses are translated: the events of llama-server break OpenAI’s clients', async () => {
    const { engine, client, id } = used
    const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'length' }]
    engine.answer((response) => answerJson(response, JSON.stringify({ choices })))
    const answer = await client.post('/v1/responses', { model: id, input: 'Hi', max_output_tokens: 99_999 })
    expect(answer.body).toMatchObject({ object: 'response', status: 'incomplete', model: id })
    expect(engine.last().path).toBe('/v1/chat/completions')
    expect(JSON.parse(engine.last().body).max_tokens).toBe(await readContext())
  })

  test('completions pass through unchanged, and the usage is metered', async () => {
    const { engine, client, id } = used
    const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 }
    const choices = [{ index: 0, text: ' b', logprobs: null, finish_reason: 'length' }]
    const answer = { id: 'c', object: 'text_completion', created: 1, model: 'berth-tiny', choices, usage }
    const before = (await client.get(`/api/v1/model-deployments/${id}/usage`)).body
    engine.answer((response) => answerJson(response, JSON.stringify(answer)))
    const prompt = 'a '.repeat(20_000)
    const answered = await client.post('/v1/completions', { model: id, prompt, seed: 7, n: 1 })
    expect(answered).toMatchObject({ status: 200, body: answer })
    expect(engine.last().path).toBe('/v1/completions')
    expect(JSON.parse(engine.last().body)).toEqual({ model: 'berth-tiny', prompt, seed: 7, n: 1 })
    await expect
      .poll(async () => (await client.get(`/api/v1/model-deployments/${id}/usage`)).body)
      .toMatchObject({ input_tokens: before.input_tokens + 5, output_tokens: before.output_tokens + 2 })
  })

  test('a streamed completion has no counts that only Berth asked for', async () => {
    const { engine, client, id } = used
    const chunk = (text: string, more = '') =>
      `data: {"choices":[{"text":"${text}","index":0,"finish_reason":${text === 'b' ? '"stop"' : null}}],"model":"berth-tiny"${more}}\n\n`
    engine.answer((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const timings = ',"timings":{"cache_n":1,"prompt_n":3,"predicted_n":1}'
      response.write(chunk('a', timings) + chunk('b', timings.replace('_n":1}', '_n":2}')))
      response.end(
        `data: {"choices":[],"model":"berth-tiny","usage":{"prompt_tokens":4,"completion_tokens":2}}\n\ndata: [DONE]\n\n`,
      )
    })
    const { body } = await client.post('/v1/completions', { model: id, prompt: 'x', stream: true })
    expect(body).toBe([chunk('a'), chunk('b')].join('') + 'data: [DONE]\n\n')
    expect(JSON.parse(engine.last().body)).toMatchObject({
      stream_options: { include_usage: true },
      timings_per_token: true,
    })
  })

  test('tokenize takes a text as `content`, and answers as vLLM does', async () => {
    const { engine, server, client, id } = used
    await server.application.tokens.flush()
    const before = (await client.get(`/api/v1/model-deployments/${id}/usage`)).body
    engine.answer((response) =>
      answerJson(response, '{"tokens":[{"id":7,"piece":"a"},{"id":8,"piece":[195]}]}'),
    )
    const ask = { model: id, prompt: 'aé', return_token_strs: true, add_special_tokens: false }
    expect(await client.post('/tokenize', ask)).toMatchObject({
      status: 200,
      body: { count: 2, tokens: [7, 8], token_strs: ['a', '\uFFFD'], max_model_len: expect.any(Number) },
    })
    expect(engine.last().path).toBe('/tokenize')
    expect(JSON.parse(engine.last().body)).toEqual({
      model: 'berth-tiny',
      content: 'aé',
      add_special: false,
      with_pieces: true,
    })
    const refused = await client.post('/tokenize', { model: id, messages: [] })
    expect(refused).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringMatching(/`prompt`/) } },
    })
    // Tokenizing uses no tokens, and isn't counted.
    await server.application.tokens.flush()
    const { requests, input_tokens } = (await client.get(`/api/v1/model-deployments/${id}/usage`)).body
    expect([requests, input_tokens]).toEqual([before.requests, before.input_tokens])
  })

  test('messages pass through to an engine that serves them: usage in parts, media, errors', async () => {
    const { engine, client, id } = used
    const before = (await client.get(`/api/v1/model-deployments/${id}/usage`)).body
    const event = (type: string, more: object) =>
      `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
    const message = { id: 'm', model: 'berth-tiny', usage: { input_tokens: 4, cache_read_input_tokens: 6 } }
    const stream = [
      event('message_start', { message }),
      event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Hi' } }),
      event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 3 } }),
      event('message_stop', {}),
    ].join('')
    engine.answer((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(stream)
    })
    const body = { model: id, max_tokens: 5, stream: true, messages: [{ role: 'user', content: 'Hi' }] }
    const answer = await client.post('/v1/messages?beta=true', body)
    expect(answer.body).toBe(stream)
    expect(engine.last().path).toBe('/v1/messages')
    expect(JSON.parse(engine.last().body)).toEqual({ ...body, model: 'berth-tiny' })
    await expect
      .poll(async () => (await client.get(`/api/v1/model-deployments/${id}/usage`)).body)
      .toMatchObject({ input_tokens: before.input_tokens + 10, output_tokens: before.output_tokens + 3 })
    engine.answer((response) => answerJson(response, '{"error":{"code":400,"message":"bad"}}', 400))
    expect(await client.post('/v1/messages', body)).toMatchObject({
      status: 400,
      body: { type: 'error', error: { type: 'invalid_request_error', message: 'bad' } },
    })
    const image = [{ type: 'image', source: { type: 'url', url: 'http://169.254.169.254/' } }]
    const received = engine.requests.length
    const refused = await client.post('/v1/messages', {
      ...body,
      messages: [{ role: 'user', content: image }],
    })
    expect(refused).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringMatching(/media/) } },
    })
    expect(engine.requests).toHaveLength(received)
  })

  test('a 502 if the engine answers no JSON, and an error of the engine stays unchanged', async () => {
    const { engine, client, id } = used
    engine.answer((response) => answerJson(response, 'oops'))
    expect((await client.post('/tokenize', { model: id, prompt: 'a' })).status).toBe(502)
    engine.answer((response) => answerJson(response, '{"error":{"message":"no"}}', 400))
    expect(await client.post('/tokenize', { model: id, prompt: 'a' })).toMatchObject({
      status: 400,
      body: { error: { message: 'no' } },
    })
  })
})

describe('vLLM', () => {
  const { formats } = engines.llamaCpp
  const used = useEngine({ ...engines.vllm, formats, version: '0.32.0' })

  test('echo is forwarded, guided_json is refused', async () => {
    const { engine, client, id } = used
    engine.answer((response) => answerJson(response, '{}'))
    const ask = { model: id, prompt: 'a', echo: true, suffix: 'b', structured_outputs: { regex: 'a+' } }
    expect((await client.post('/v1/completions', ask)).status).toBe(200)
    const refused = await client.post('/v1/chat/completions', {
      model: id,
      messages: [],
      guided_json: { a: 1 },
    })
    expect(refused.body.error).toMatchObject({ param: 'guided_json', type: 'invalid_request_error' })
  })

  test('responses pass through to an engine that serves them: usage in events, and no state', async () => {
    const { engine, client, id } = used
    const before = (await client.get(`/api/v1/model-deployments/${id}/usage`)).body
    const event = (type: string, more: object) =>
      `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
    const response = { id: 'r', model: 'berth-tiny', usage: null }
    const usage = { input_tokens: 8, output_tokens: 3, input_tokens_details: { cached_tokens: 2 } }
    const stream = [
      event('response.created', { response }),
      event('response.output_text.delta', { delta: 'Hi' }),
      event('response.completed', { response: { ...response, usage } }),
    ].join('')
    engine.answer((answer) => answer.writeHead(200, { 'content-type': 'text/event-stream' }).end(stream))
    const body = { model: id, input: 'Hi', stream: true, max_output_tokens: 7 }
    expect((await client.post('/v1/responses', body)).body).toBe(stream)
    expect(engine.last().path).toBe('/v1/responses')
    await expect
      .poll(async () => (await client.get(`/api/v1/model-deployments/${id}/usage`)).body)
      .toMatchObject({ input_tokens: before.input_tokens + 8, output_tokens: before.output_tokens + 3 })
    const received = engine.requests.length
    expect(await client.post('/v1/responses', { ...body, previous_response_id: 'r' })).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringMatching(/`previous_response_id`/) } },
    })
    expect(engine.requests).toHaveLength(received)
  })
})

describe('an engine without a route', () => {
  const used = useEngine({ routes: { completions: '99999' }, title: 'Old engine', version: '10964' })

  test.each(['/v1/completions', '/tokenize'])(
    'POST %s: 404 route_not_supported names the engine',
    async (path) => {
      const { engine, client, id } = used
      const received = engine.requests.length
      expect(await client.post(path, { model: id, prompt: 'a' })).toMatchObject({
        status: 404,
        body: {
          error: {
            code: 'route_not_supported',
            message: `Old engine, which runs berth-tiny, does not serve ${path}.`,
          },
        },
      })
      expect(engine.requests).toHaveLength(received)
    },
  )
})

test('GET /version answers as vLLM does', async () => {
  const server = await startTestServer({ runtime: createScriptedRuntime() })
  try {
    const answer = await (await registerClient(server.url)).get('/version')
    expect(answer).toMatchObject({ status: 200, body: { version: expect.stringMatching(/^\d+\.\d+\.\d+$/) } })
  } finally {
    await server.close()
  }
})
