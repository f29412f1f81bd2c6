import { describe, expect, test } from 'vitest'
import { engines } from '../../support/engines.ts'
import { useEngine } from '../../support/use-engine.ts'

const { formats } = engines.llamaCpp
/** Messages and responses are translated for the first engine, and not for the second one. */
const used = {
  translated: useEngine(engines.embedded),
  native: useEngine({ ...engines.vllm, formats, version: '0.32.0' }),
}
type Kind = keyof typeof used

const chunk = (delta: object, more = {}) =>
  `data: ${JSON.stringify({ id: 'c', model: 'berth-tiny', choices: [{ index: 0, delta, finish_reason: null }], ...more })}\n\n`
const text = chunk({ content: 'one ' })
const call = chunk({
  tool_calls: [{ index: 0, id: 't', type: 'function', function: { name: 'f', arguments: '{"city":"Par' } }],
})
const completion = 'data: {"choices":[{"index":0,"text":"one ","finish_reason":null}]}\n\n'
const done = 'data: [DONE]\n\n'
const event = (type: string, more: object = {}) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
const messageStart = event('message_start', { message: { usage: { input_tokens: 3 } } })
const messageDelta = event('content_block_delta', { delta: { type: 'text_delta', text: 'one ' } })
const responseDelta = event('response.output_text.delta', { delta: 'one ' })

/** Sends a streamed request to an engine that streams this, and returns the caller's text. */
async function ask(kind: Kind, path: string, events: string, more: object = {}): Promise<string> {
  const { engine, client, id } = used[kind]
  engine.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(events)
  })
  const messages = [{ role: 'user', content: 'q' }]
  const given = path === '/v1/responses' ? { input: 'q' } : { messages, prompt: 'q' }
  const body = { model: id, stream: true, max_tokens: 9, ...given, ...more }
  return (await client.post(path, body)).body
}

async function metered(kind: Kind): Promise<number[]> {
  const { server, client, id } = used[kind]
  await server.application.tokens.flush()
  const { body } = await client.get(`/api/v1/model-deployments/${id}/usage`)
  return [body.requests, body.output_tokens]
}

const lastEvent = (stream: string) => stream.split('\n\n').at(-2)!

test('an end before a long text of the same event is the end', async () => {
  const last = { index: 0, finish_reason: 'stop', delta: { content: '"\\ndata: '.repeat(50_000) } }
  const events = `${text}data: ${JSON.stringify({ choices: [last] })}\n\n${done}`
  expect(await ask('native', '/v1/chat/completions', events)).not.toContain('"error"')
  const unended = JSON.stringify({ choices: [{ ...last, finish_reason: null }] })
  expect(await ask('native', '/v1/chat/completions', `data: ${unended}\n\n${done}`)).toContain('"error"')
})

describe('a stream that ends without the end of its answer is an error, and what was generated is counted', () => {
  const whole = '"message":"The engine ended its response before the answer was complete."'
  test.each<[string, Kind, string, string, RegExp]>([
    ['a chat', 'translated', '/v1/chat/completions', text, /^data: \{"error":/],
    ['a call in a chat', 'native', '/v1/chat/completions', call, /^data: \{"error":/],
    ['a half event', 'native', '/v1/chat/completions', `${text}data: {"choi`, /^data: \{"error":/],
    ['a completion', 'native', '/v1/completions', completion, /^data: \{"error":/],
    ['a message', 'translated', '/v1/messages', text, /^event: error\ndata: \{"type":"error","error":/],
    ['a call in a message', 'translated', '/v1/messages', call, /^event: error\ndata:/],
    [
      'a half event in a message',
      'translated',
      '/v1/messages',
      `${text}data: {"choi`,
      /^event: error\ndata:/,
    ],
    ['an engine’s message', 'native', '/v1/messages', messageStart + messageDelta, /^event: error\ndata:/],
    ['a response', 'translated', '/v1/responses', text, /^event: response\.failed\ndata:/],
    ['a call in a response', 'translated', '/v1/responses', call, /^event: response\.failed\ndata:/],
    [
      'an engine’s response',
      'native',
      '/v1/responses',
      responseDelta,
      /^event: error\ndata: \{"type":"error"/,
    ],
  ])('%s on an engine that is %s: %s', async (_what, kind, path, events, expected) => {
    const [requests = 0, output = 0] = await metered(kind)
    const stream = await ask(kind, path, events)
    expect(lastEvent(stream)).toMatch(expected)
    expect(lastEvent(stream)).toContain(whole)
    expect(stream).not.toMatch(/stop_reason":"|message_stop|response\.completed|arguments\.done/)
    expect(await metered(kind)).toEqual([requests + 1, output + 1])
  })

  test.each<[string, Kind]>([
    ['/v1/chat/completions', 'native'],
    ['/v1/chat/completions', 'translated'],
    ['/v1/messages', 'translated'],
    ['/v1/responses', 'translated'],
  ])('%s: also before the mark of the end, which clients stop at', async (path, kind) => {
    const stream = await ask(kind, path, text + done)
    expect(stream).toContain(whole)
    expect(stream.indexOf(whole)).toBeLessThan((stream + done).indexOf(done))
  })

  test('an error of the engine is an end', async () => {
    const error = 'data: {"error":{"message":"no memory"}}\n\n'
    expect(await ask('native', '/v1/chat/completions', text + error)).toBe(text + error)
    expect(lastEvent(await ask('translated', '/v1/messages', text + error))).toContain('no memory')
  })
})

describe('usage', () => {
  const usage = { prompt_tokens: 7, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 3 } }
  const stop = { choices: [{ index: 0, delta: { content: 'b' }, finish_reason: 'stop' }] }
  const counted = chunk({ content: 'a' }, { usage: { prompt_tokens: 7, completion_tokens: 1 } })

  test('in a chunk with choices reaches the caller who asked for it', async () => {
    for (const end of ['', done]) {
      const events = counted + chunk({}, { ...stop, usage }) + end
      const asks = { stream_options: { include_usage: true } }
      const stream = await ask('translated', '/v1/chat/completions', events, asks)
      const sent = JSON.parse(stream.replace(end, '').split('data: ').at(-1)!)
      expect(sent).toMatchObject({ id: 'c', model: 'berth-tiny', choices: [], usage })
      const unasked = await ask('translated', '/v1/chat/completions', events)
      expect(unasked).not.toContain('"usage"')
    }
  })

  test('of a translated stream is what is metered, and its first event has the tokens of the prompt', async () => {
    const events = counted + chunk({}, { ...stop, usage })
    const message = await ask('translated', '/v1/messages', events)
    const cached = { cache_creation_input_tokens: 0, cache_read_input_tokens: 3 }
    const data = message
      .split('\n\n')
      .flatMap((each) => (each === '' ? [] : [JSON.parse(each.split('data: ')[1]!)]))
    expect(data[0].message.usage).toEqual({ input_tokens: 4, ...cached, output_tokens: 0 })
    expect(data.at(-2).usage).toEqual({ input_tokens: 4, ...cached, output_tokens: 2 })
    const response = await ask('translated', '/v1/responses', events)
    expect(JSON.parse(lastEvent(response).split('data: ')[1]!).response.usage).toEqual({
      input_tokens: 7,
      input_tokens_details: { cached_tokens: 3, cache_write_tokens: 0 },
      output_tokens: 2,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 9,
    })
    // Without any count, each chunk counts as a token.
    const [requests = 0, output = 0] = await metered('translated')
    const uncounted = await ask('translated', '/v1/messages', text + text + chunk({}, stop))
    expect(uncounted).toContain('"output_tokens":3')
    expect(await metered('translated')).toEqual([requests + 1, output + 3])
  })
})
