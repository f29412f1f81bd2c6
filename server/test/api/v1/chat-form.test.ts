import { describe, expect, test } from 'vitest'
import { engines } from '../../support/engines.ts'
import { answerJson } from '../../support/recording-engine.ts'
import { useEngine } from '../../support/use-engine.ts'

const tool = (name: string, parameters: object = { type: 'object' }, more: object = {}) => ({
  type: 'function',
  function: { name, parameters, ...more },
})
const named = (name: string) => ({ type: 'function', function: { name } })
const schema = {
  type: 'object',
  properties: { pet: { type: 'string', enum: ['cat', 'dog'] }, age: { type: 'integer', minimum: 0 } },
  required: ['pet'],
  additionalProperties: false,
}
const ownForm = { type: 'json_schema', json_schema: { name: 'answer', schema } }
const user = [{ role: 'user', content: 'q' }]

/** Returns a function that sends a request, and resolves to the error or to what the engine got. */
function asker(used: ReturnType<typeof useEngine>) {
  return async (body: object, path = '/v1/chat/completions') => {
    const { client, engine, id } = used
    const choices = [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }]
    engine.answer((response) => answerJson(response, JSON.stringify({ choices })))
    const before = engine.requests.length
    const { status, body: answer } = await client.post(path, {
      model: id,
      messages: user,
      input: 'q',
      max_tokens: 9,
      ...body,
    })
    if (status !== 200) expect(engine.requests).toHaveLength(before)
    return {
      status,
      error: answer.error,
      sent: status === 200 ? JSON.parse(engine.last().body) : null,
      text: engine.last()?.body,
    }
  }
}

describe('llama-server', () => {
  const used = useEngine({ ...engines.llamaCpp, version: '11669' })
  const ask = asker(used)
  const tools = [tool('get_weather'), tool('get_time'), tool('play_music')]

  test.each<[path: string, body: object]>([
    ['/v1/chat/completions', { tools, tool_choice: named('get_time') }],
    [
      '/v1/chat/completions',
      {
        tools,
        tool_choice: {
          type: 'allowed_tools',
          allowed_tools: { mode: 'required', tools: [named('get_time')] },
        },
      },
    ],
    [
      '/v1/messages',
      {
        tools: tools.map(({ function: { name, parameters } }) => ({ name, input_schema: parameters })),
        tool_choice: { type: 'tool', name: 'get_time' },
      },
    ],
    [
      '/v1/responses',
      {
        tools: tools.map(({ function: called }) => ({ type: 'function', ...called })),
        tool_choice: { type: 'function', name: 'get_time' },
      },
    ],
  ])('%s: a choice of a tool sends only that one, and requires a call', async (path, body) => {
    const { sent } = await ask(body, path)
    expect(sent.tools.map((each: any) => each.function.name)).toEqual(['get_time'])
    expect(sent.tool_choice).toBe('required')
  })

  test('an allowed tool need not be called, and a word as the choice stays', async () => {
    const choice = { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [named('get_time')] } }
    expect((await ask({ tools, tool_choice: choice })).sent).toMatchObject({
      tool_choice: 'auto',
      tools: [tools[1]],
    })
    expect((await ask({ tools, tool_choice: 'none' })).sent).toMatchObject({ tool_choice: 'none', tools })
  })

  test.each([
    [named('nothing'), 'names a function that is not in `tools`'],
    [{ type: 'custom' }, 'must be `auto`'],
    [{ type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [] } }, 'must have a function'],
  ])('the choice %j is a 400', async (choice, message) => {
    const { status, error } = await ask({ tools, tool_choice: choice })
    expect([status, error.message]).toEqual([400, expect.stringContaining(message)])
  })

  test.each([[{ type: 'json_object', schema }], [{ type: 'json_schema', schema }], [ownForm]])(
    'the schema of an answer reaches the engine in OpenAI’s form: %j',
    async (format) => {
      expect((await ask({ response_format: format })).sent.response_format).toEqual(ownForm)
    },
  )

  test('a format without a schema stays', async () => {
    for (const format of [{ type: 'json_object' }, { type: 'text' }]) {
      expect((await ask({ response_format: format })).sent.response_format).toEqual(format)
    }
    const { status, error } = await ask({ response_format: { type: 'json_schema' } })
    expect([status, error.param]).toEqual([400, 'response_format.json_schema'])
  })

  test.each<[keyword: string, part: object]>([
    ['pattern', { type: 'string', pattern: 'a' }],
    ['exclusiveMinimum', { type: 'integer', exclusiveMinimum: 3 }],
    ['minimum', { type: 'number', minimum: 3 }],
    ['multipleOf', { type: 'integer', multipleOf: 3 }],
    ['format', { type: 'string', format: 'date' }],
    ['allOf', { allOf: [{ type: 'string' }] }],
    ['anyOf', { anyOf: [{ type: 'string' }], minLength: 3 }],
    ['not', { not: {} }],
    ['uniqueItems', { type: 'array', uniqueItems: true }],
    ['minProperties', { type: 'object', minProperties: 1 }],
    ['required', { type: 'object', required: ['a'] }],
  ])('a schema with "%s", which the engine would ignore, is a 400 that names it', async (keyword, part) => {
    const strict = { type: 'object', properties: { x: part }, additionalProperties: false }
    const place = 'at #/properties/x'
    for (const [param, body] of [
      [
        'response_format.json_schema.schema',
        { response_format: { type: 'json_schema', json_schema: { schema: strict } } },
      ],
      ['json_schema', { json_schema: strict }],
      ['tools.1.function.parameters', { tools: [tools[0], tool('f', strict, { strict: true })] }],
    ] as const) {
      const { status, error } = await ask(body)
      expect([status, error.param]).toEqual([400, param])
      expect(error.message).toContain(`"${keyword}"`)
      expect(error.message).toContain(place)
    }
    expect((await ask({ tools: [tool('f', strict)] })).status).toBe(200)
  })

  test.each<[part: unknown, sent: unknown]>([
    [{ $ref: '#' }, {}],
    [true, {}],
    [
      { type: 'array', prefixItems: [{ type: 'string' }, true], items: false },
      { type: 'array', prefixItems: [{ type: 'string' }, {}] },
    ],
    [{ enum: [] }, {}],
    [{ $ref: 'https://example.com/a', description: 'An outer one' }, { description: 'An outer one' }],
    [{ type: 'string', minLength: 5000 }, { type: 'string' }],
    [{ type: 'string', minLength: 5, maxLength: 2 }, { type: 'string' }],
    [{ type: 'string', pattern: '^(a$' }, { type: 'string' }],
    [{ $ref: '#/$defs/self' }, {}],
    [{ type: 'date' }, {}],
    [
      { type: 'array', items: { anyOf: [{ type: 'any' }, null] } },
      { type: 'array', items: { anyOf: [{}, {}] } },
    ],
  ])('a tool with the property %j gets one that the engine can convert', async (part, sent) => {
    const parameters = { type: 'object', properties: { x: part }, $defs: { self: { $ref: '#/$defs/self' } } }
    const loose = { type: 'object', properties: { x: sent }, $defs: { self: {} } }
    const { sent: body } = await ask({
      tools: [tools[0], tool('f', parameters, { description: 'Does it.' })],
    })
    expect(body.tools).toEqual([tools[0], tool('f', loose, { description: 'Does it.' })])
  })

  test('other tools stay unchanged, digits included', async () => {
    const { client, engine, id, server } = used
    engine.answer((response) => answerJson(response, '{"choices":[]}'))
    const exact = '{"type":"object","properties":{"2":{"maximum":18446744073709551615},"1":{"pattern":"a"}}}'
    const list = `[{"type":"function","function":{"name":"f","parameters":${exact}}},{"type":"function","function":{"name":"g","parameters":{"properties":{"x":true}}}}]`
    const body = `{"model":"${id}","messages":[{"role":"user","content":"q"}],"tools":${list}}`
    const headers = { cookie: client.cookie(), 'content-type': 'application/json' }
    const { status } = await fetch(`${server.url}/v1/chat/completions`, { method: 'POST', headers, body })
    expect(status).toBe(200)
    expect(engine.last().body).toContain(`"parameters":${exact}`)
  })

  test('a schema next to tools: a 400 if the model may choose, else the call or the schema', async () => {
    const { status, error } = await ask({ tools, response_format: ownForm })
    expect([status, error.param]).toEqual([400, 'response_format'])
    const required = await ask({ tools, tool_choice: 'required', response_format: ownForm })
    expect(required.sent.response_format).toEqual({ type: 'text' })
    expect(
      (await ask({ tools, tool_choice: 'none', response_format: ownForm })).sent.response_format,
    ).toEqual(ownForm)
  })

  test('neighbors of one role reach the engine as one message', async () => {
    const messages = [...user, ...user]
    expect((await ask({ messages, tools: [] }, '/v1/responses')).status).toBe(200)
    const { sent } = await ask({ input: messages }, '/v1/responses')
    expect(sent.messages).toEqual([{ role: 'user', content: 'q\n\nq' }])
  })
})

describe('vLLM', () => {
  const ask = asker(useEngine({ ...engines.vllm, formats: engines.llamaCpp.formats }))

  test('the schema of an answer reaches the engine in OpenAI’s form, tools as they are', async () => {
    for (const type of ['json_object', 'json_schema']) {
      expect((await ask({ response_format: { type, schema } })).sent.response_format).toEqual(ownForm)
    }
    const tools = [tool('f', { properties: { x: true } }), tool('g')]
    const pattern = { type: 'json_schema', json_schema: { name: 'x', schema: { pattern: 'a' } } }
    const asked = { tools, tool_choice: named('g'), response_format: pattern }
    expect((await ask(asked)).sent).toMatchObject(asked)
  })

  test.each(['format', 'grammar', 'json_schema', 'schema'])(
    '%s, which it would ignore, is a 400',
    async (name) => {
      const { status, error } = await ask({ [name]: 'json' })
      expect([status, error.param]).toEqual([400, name])
    },
  )
})

describe('the embedded engine', () => {
  const ask = asker(useEngine(engines.embedded))

  test('requests stay unchanged, because it does all of it', async () => {
    const asked = {
      tools: [tool('f', { properties: { x: true } }), tool('g')],
      tool_choice: named('g'),
      response_format: { type: 'json_object', schema: { pattern: 'a' } },
    }
    expect((await ask(asked)).sent).toMatchObject(asked)
  })
})
