import { describe, expect, test } from 'vitest'
import { engines } from '../../support/engines.ts'
import { answerJson } from '../../support/recording-engine.ts'
import { useEngine } from '../../support/use-engine.ts'

const used = useEngine({ routes: engines.embedded.routes, chatForm: null })

/** Answers each chat with this message. */
function answerWith(message: object): void {
  const choices = [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop' }]
  used.engine.answer((response) => answerJson(response, JSON.stringify({ choices })))
}

const authorized = () => ({ cookie: used.client.cookie(), 'content-type': 'application/json' })

/** Sends a body as it is written, and returns the texts of the engine's request and of the answer. */
async function ask(path: string, body: string): Promise<{ sent: string; status: number; answer: string }> {
  const text = body.replace('MODEL', used.id)
  const response = await fetch(`${used.server.url}${path}`, {
    method: 'POST',
    headers: authorized(),
    body: text,
  })
  const answer = await response.text()
  return { sent: used.engine.requests.at(-1)?.body ?? '', status: response.status, answer }
}

describe('numbers and the order of members', () => {
  const exact =
    '{"id": 2512292042121000001, "price": 10.00, "2": 1, "1": 1e400, "big": 12345678901234567890123}'

  test('calls, schemas and settings reach the engine as they were written', async () => {
    answerWith({ content: 'ok' })
    const schema = `{"type":"object","properties":{"2":{"type":"integer","maximum":18446744073709551615},"1":{"type":"number"}}}`
    const messages = `[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input": ${exact}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"10.00"}]}]`
    const message = await ask(
      '/v1/messages',
      `{"model":"MODEL","max_tokens":5,"seed":9007199254740993,"messages":${messages},"tools":[{"name":"f","input_schema":${schema}}],"tool_choice":{"type":"none"},"output_config":{"format":{"type":"json_schema","schema":${schema}}}}`,
    )
    expect(message).toMatchObject({ status: 200 })
    expect(message.sent).toContain(`"arguments":${JSON.stringify(exact)}`)
    expect(message.sent).toContain(`"parameters":${schema}`)
    expect(message.sent).toContain(`"schema":${schema}`)
    expect(message.sent).toContain('"seed":9007199254740993')
    const response = await ask(
      '/v1/responses',
      `{"model":"MODEL","input":"q","seed":9007199254740993,"tools":[{"type":"function","name":"f","parameters":${schema}}],"tool_choice":"none","text":{"format":{"type":"json_schema","name":"n","schema":${schema}}}}`,
    )
    expect(response).toMatchObject({ status: 200 })
    expect(response.sent).toContain(`"parameters":${schema}`)
    expect(response.sent).toContain('"seed":9007199254740993')
    // The response repeats the format.
    expect(response.answer).toContain(`"schema":${schema}`)
  })

  test('the input of a call reaches the caller as the model wrote it, also if it is no object', async () => {
    const body = '{"model":"MODEL","max_tokens":5,"messages":[{"role":"user","content":"q"}]}'
    const call = (json: string) => ({
      content: null,
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: json } }],
    })
    for (const [json, input] of [
      [exact, exact],
      ['', '{}'],
      ['{"city":"Par', '{"INVALID_JSON":"{\\"city\\":\\"Par"}'],
      ['[1]', '{"INVALID_JSON":"[1]"}'],
    ] as const) {
      answerWith(call(json))
      const { answer } = await ask('/v1/messages', body)
      expect(answer).toContain(`"input":${input}`)
    }
  })
})

const pixel = 'iVBORw0KGgo='
const png = `data:image/png;base64,${pixel}`
const anthropicImage = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } }
const responseImage = { type: 'input_image', image_url: png }

/** Sends an object, and returns the messages that the engine got, or the error. */
async function send(on: ReturnType<typeof useEngine>, path: string, body: object) {
  const choices = [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }]
  on.engine.answer((response) => answerJson(response, JSON.stringify({ choices })))
  const received = on.engine.requests.length
  const answer = await on.client.post(path, { model: on.id, max_tokens: 5, ...body })
  const sent = on.engine.requests.length > received ? JSON.parse(on.engine.last().body) : null
  return {
    status: answer.status,
    error: answer.body.error,
    messages: sent?.messages,
    sent,
    body: answer.body,
  }
}

const message = (messages: readonly object[], more = {}) => send(used, '/v1/messages', { messages, ...more })
const respond = (input: readonly object[], more = {}) => send(used, '/v1/responses', { input, ...more })

const user = (content: unknown) => ({ role: 'user', content })
const toolUse = { type: 'tool_use', id: 't', name: 'read', input: {} }
const calledMessage = { role: 'assistant', content: [toolUse] }
const result = (content: unknown, more = {}) =>
  user([{ type: 'tool_result', tool_use_id: 't', content, ...more }])
const functionCall = { type: 'function_call', call_id: 't', name: 'read', arguments: '{}' }
const output = (given: unknown) => ({ type: 'function_call_output', call_id: 't', output: given })
const chatCall = (json = '{}', name = 'read') => ({
  id: 't',
  type: 'function',
  function: { name, arguments: json },
})

describe('what a model needs of a history', () => {
  test('a result tells that its tool failed', async () => {
    for (const [content, text] of [
      ['42', 'The tool failed.\n\n42'],
      [undefined, 'The tool failed.'],
    ] as const) {
      const { messages } = await message([user('q'), calledMessage, result(content, { is_error: true })])
      expect(messages.at(-1)).toEqual({ role: 'tool', tool_call_id: 't', content: text })
    }
    const { messages } = await message([user('q'), calledMessage, result('42', { is_error: false })])
    expect(messages.at(-1)).toEqual({ role: 'tool', tool_call_id: 't', content: '42' })
  })

  test('thoughts stay with the calls that they led to', async () => {
    const expected = [
      user('q'),
      {
        role: 'assistant',
        content: '',
        reasoning_content: 'SECRET PLAN',
        reasoning: 'SECRET PLAN',
        tool_calls: [chatCall()],
      },
      { role: 'tool', tool_call_id: 't', content: 'r' },
    ]
    const thinking = { type: 'thinking', thinking: 'SECRET PLAN', signature: '' }
    const turn = { role: 'assistant', content: [thinking, { type: 'redacted_thinking', data: 'x' }, toolUse] }
    expect((await message([user('q'), turn, result('r')])).messages).toEqual(expected)
    for (const reasoning of [
      { summary: [], content: [{ type: 'reasoning_text', text: 'SECRET PLAN' }] },
      { summary: [{ type: 'summary_text', text: 'SECRET PLAN' }], encrypted_content: 'x' },
    ]) {
      const items = [user('q'), { type: 'reasoning', id: 'rs', ...reasoning }, functionCall, output('r')]
      expect((await respond(items)).messages).toEqual(expected)
    }
  })

  test('turns of the model without text and calls are left out', async () => {
    for (const content of [[], '', [{ type: 'text', text: '' }], [{ type: 'thinking', thinking: 'x' }]]) {
      const { messages } = await message([user('a'), { role: 'assistant', content }, user('b')])
      expect(messages).toEqual([user('a'), user('b')])
    }
    const items = [
      user('a'),
      { type: 'reasoning', summary: [] },
      { role: 'assistant', content: [] },
      user('b'),
    ]
    expect((await respond(items)).messages).toEqual([user('a'), user('b')])
  })
})

describe('pictures and files that the model can’t read', () => {
  test('in the result of a tool a sentence replaces them', async () => {
    const pdf = {
      type: 'document',
      source: { type: 'base64', media_type: 'application/pdf', data: pixel },
    }
    const { status, messages } = await message([
      user('q'),
      calledMessage,
      result([{ type: 'text', text: 'a' }, anthropicImage, pdf]),
    ])
    expect(status).toBe(200)
    const content = "a\n\n[an image that this model can't read]\n\n[a document that this model can't read]"
    expect(messages).toEqual([
      user('q'),
      { role: 'assistant', content: '', tool_calls: [chatCall()] },
      { role: 'tool', tool_call_id: 't', content },
    ])
    const parts = [{ type: 'input_text', text: 'a' }, responseImage, { type: 'input_file', file_id: 'f' }]
    const responded = await respond([user('q'), functionCall, output(parts)])
    expect(responded.messages.at(-1).content).toBe(content.replace('a document', 'a file'))
  })

  test('in a new message they are refused by the caller’s path, and in an old one they are no dead end', async () => {
    const refused = await message([user('q'), calledMessage, result('r'), user([anthropicImage])])
    expect([refused.status, refused.error.message]).toEqual([
      400,
      '`messages.3.content.0` is an image, and this model reads only text.',
    ])
    const counted = await send(used, '/v1/messages/count_tokens', { messages: [user([anthropicImage])] })
    expect(counted.error.message).toContain('`messages.0.content.0` is an image')
    const went = await message([user([anthropicImage]), user('never mind')])
    expect(went.messages).toEqual([user("[an image that this model can't read]\n\nnever mind")])
    const asked = await respond([{ role: 'developer', content: 'd' }, user([responseImage])])
    expect(asked.error).toMatchObject({ param: 'input.1.content.0' })
    const moved = await respond([user([responseImage]), user('never mind')])
    expect(moved.messages).toEqual([user("[an image that this model can't read]\n\nnever mind")])
  })

  test('items that Anthropic’s or OpenAI’s servers made are sentences in a history, and refused as the last', async () => {
    const hosted = { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'q' } }
    const text = { type: 'text', text: 'Found it.' }
    const { messages } = await message([
      user('q'),
      { role: 'assistant', content: [hosted, text] },
      user('go on'),
    ])
    expect(messages[1]).toEqual({
      role: 'assistant',
      content: '[a part of the type "server_tool_use" that this model can\'t read]Found it.',
    })
    for (const type of [
      'web_search_call',
      'image_generation_call',
      'compaction',
      'mcp_call',
      'tool_search_call',
    ]) {
      const went = await respond([user('q'), { type, id: 'x' }, user('go on')])
      expect([went.status, went.messages[1].content]).toEqual([
        200,
        `[a part of the type "${type}" that this model can't read]`,
      ])
      const refused = await respond([user('q'), { type, id: 'x' }])
      expect(refused.error).toMatchObject({ param: 'input.1.type', message: expect.stringContaining(type) })
    }
    const block = await message([user([{ type: 'search_result', title: 't' }])])
    expect(block.error.message).toContain('`messages.0.content.0.type` is "search_result"')
  })

  test('an item of a stored response is found in the request, or the 400 names `store`', async () => {
    const answer = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'a' }],
    }
    const reference = { type: 'item_reference', id: 'msg_1' }
    const { messages } = await respond([user('q'), reference, user('w'), answer, user('go on')])
    expect(messages.map(({ content }: { content: string }) => content)).toEqual(['q', 'a', 'w', 'a', 'go on'])
    const { status, error } = await respond([user('q'), reference, user('go on')])
    expect([status, error.param]).toEqual([400, 'input.1.type'])
    expect(error.message).toContain('`store: false`')
  })
})

describe('an engine that sees', () => {
  const seeing = useEngine({ images: 'native' })
  const picture = { type: 'image_url', image_url: { url: png } }

  test('pictures in the results of tools follow all results, in a message of the user', async () => {
    const second = { ...functionCall, call_id: 'u' }
    const items = [
      user('q'),
      functionCall,
      second,
      output([{ type: 'input_text', text: 'a' }, responseImage]),
      { ...output('b'), call_id: 'u' },
    ]
    const expected = [
      { role: 'tool', tool_call_id: 't', content: 'a' },
      { role: 'tool', tool_call_id: 'u', content: 'b' },
    ]
    const last = await send(seeing, '/v1/responses', { input: items })
    expect(last.messages.slice(2)).toEqual([...expected, user([picture])])
    const followed = await send(seeing, '/v1/responses', { input: [...items, user('and?')] })
    expect(followed.messages.slice(2)).toEqual([...expected, user([picture, { type: 'text', text: 'and?' }])])
    const answered = await send(seeing, '/v1/responses', {
      input: [...items, { role: 'assistant', content: 'A dog.' }, user('and?')],
    })
    expect(answered.messages.slice(4)).toEqual([
      user([picture]),
      { role: 'assistant', content: 'A dog.' },
      user('and?'),
    ])
    const { messages } = await send(seeing, '/v1/messages', {
      messages: [user('q'), calledMessage, result([anthropicImage])],
    })
    expect(messages.slice(2)).toEqual([{ role: 'tool', tool_call_id: 't', content: '' }, user([picture])])
  })
})

describe('system texts that aren’t first', () => {
  const { formats } = engines.llamaCpp
  const own = useEngine(engines.embedded)
  const native = useEngine({ ...engines.vllm, formats, version: '0.32.0' })
  const system = (content: string) => ({ role: 'system', content })
  const claude = { system: 's', messages: [user('q'), system('Today is Monday.')] }
  const codex = { instructions: 's', input: [{ role: 'developer', content: 'd' }, user('q'), user('w')] }
  const chat = { messages: [system('s'), { role: 'developer', content: 'd' }, user('q'), system('t')] }

  test('are joined to the first one or become the user’s, also on an engine’s own routes', async () => {
    for (const on of [used, native]) {
      expect((await send(on, '/v1/messages', claude)).messages).toEqual([
        system('s'),
        user('q\n\nToday is Monday.'),
      ])
      expect((await send(on, '/v1/responses', codex)).messages).toEqual([system('s\n\nd'), user('q\n\nw')])
      expect((await send(on, '/v1/chat/completions', chat)).messages).toEqual([
        system('s\n\nd'),
        user('q\n\nt'),
      ])
    }
  })

  test('one at the start leaves engines their own routes', async () => {
    await send(native, '/v1/messages', { system: 's', messages: [user('a "system"')] })
    expect(native.engine.last().path).toBe('/v1/messages')
    await send(native, '/v1/responses', { instructions: 's', input: [user('q')] })
    expect(native.engine.last().path).toBe('/v1/responses')
  })

  test('reach Berth’s engine unchanged, which knows what the template takes', async () => {
    expect((await send(own, '/v1/chat/completions', chat)).messages).toEqual(chat.messages)
    expect((await send(own, '/v1/messages', claude)).messages).toEqual([
      system('s'),
      user('q'),
      system('Today is Monday.'),
    ])
  })
})

test('an error of the engine names the caller’s field', async () => {
  const errorFor = async (path: string, param: string, body: object) => {
    const text = JSON.stringify({ error: { message: `${param} is bad`, type: 'e', param, code: null } })
    used.engine.answer((response) => answerJson(response, text, 400))
    return (await used.client.post(path, { model: used.id, max_tokens: 5, ...body })).body.error
  }
  const hosted = { type: 'web_search_20250305', name: 'web_search' }
  const own = { name: 'f', input_schema: { type: 'object' } }
  const asked = { system: 's', messages: [user('q'), calledMessage, result('r')], tools: [hosted, own] }
  for (const [param, path] of [
    ['messages.3.content', 'messages.2'],
    ['messages.2.tool_calls.0.function.arguments', 'messages.1.content.0'],
    ['tools.0.function.name', 'tools.1'],
  ]) {
    expect((await errorFor('/v1/messages', param!, asked)).message).toBe(`${path} is bad`)
  }
  const text = { format: { type: 'json_object' } }
  for (const [param, path] of [
    ['messages.1.content.0', 'input.0'],
    ['messages.2.tool_calls.0.function.arguments', 'input.1'],
    ['response_format', 'text.format'],
    ['max_tokens', 'max_output_tokens'],
  ]) {
    const input = [user('q'), functionCall, output('r')]
    const error = await errorFor('/v1/responses', param!, { instructions: 'i', input, text })
    expect(error).toMatchObject({ param: path, message: `${path} is bad` })
  }
})

describe('tools that the caller’s program runs', () => {
  const grammar = { type: 'grammar', syntax: 'lark', definition: 'start: "*** Begin Patch"' }
  const custom = { type: 'custom', name: 'apply_patch', description: 'Patches files.', format: grammar }
  const called = (name: string, json: string, id = 't') => ({
    content: null,
    tool_calls: [{ ...chatCall(json, name), id }],
  })

  test('a custom tool is a function with one text, and its calls are custom', async () => {
    const patch = '*** Begin Patch\n+"1"'
    const chat = called('apply_patch', JSON.stringify({ input: patch }))
    const choices = [{ index: 0, message: { role: 'assistant', ...chat }, finish_reason: 'tool_calls' }]
    used.engine.answer((response) => answerJson(response, JSON.stringify({ choices })))
    const tool_choice = { type: 'custom', name: 'apply_patch' }
    const asked = { model: used.id, input: 'q', tools: [custom], tool_choice }
    const { body } = await used.client.post('/v1/responses', asked)
    const sent = JSON.parse(used.engine.last().body)
    expect(sent.tools).toMatchObject([
      {
        type: 'function',
        function: {
          name: 'apply_patch',
          description: 'Patches files.',
          parameters: { properties: { input: { type: 'string' } }, required: ['input'] },
        },
      },
    ])
    expect(JSON.stringify(sent.tools)).toContain('*** Begin Patch')
    expect(sent.tool_choice).toEqual({ type: 'function', function: { name: 'apply_patch' } })
    const item = {
      type: 'custom_tool_call',
      call_id: 't',
      name: 'apply_patch',
      input: patch,
      status: 'completed',
    }
    expect(body.output).toEqual([{ ...item, id: expect.stringMatching(/^ctc_/) }])

    const chunk = (delta: object, reason: string | null = null) =>
      `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`
    const [{ id, ...start }] = chat.tool_calls as [ReturnType<typeof chatCall>]
    const json = start.function.arguments
    used.engine.answer((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const part = (given: object) => chunk({ tool_calls: [{ index: 0, ...given }] })
      response.write(
        part({ id, type: 'function', function: { name: 'apply_patch', arguments: json.slice(0, 9) } }),
      )
      response.write(part({ function: { arguments: json.slice(9) } }))
      response.end(chunk({}, 'tool_calls'))
    })
    const streamed = await used.client.post('/v1/responses', { ...asked, stream: true })
    const events = String(streamed.body)
      .split('\n\n')
      .flatMap((event) => (event === '' ? [] : [JSON.parse(event.slice(event.indexOf('data: ') + 6))]))
    expect(events.map(({ type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.custom_tool_call_input.delta',
      'response.custom_tool_call_input.done',
      'response.output_item.done',
      'response.completed',
    ])
    expect(events[3].delta + events[4].input).toBe(patch + patch)
    expect(events.at(-1).response.output).toMatchObject([item])
  })

  test('their calls and outputs go back as those of functions', async () => {
    const items = [
      user('q'),
      { type: 'custom_tool_call', call_id: 'a', name: 'apply_patch', input: 'x\n"' },
      { type: 'custom_tool_call_output', call_id: 'a', output: 'done' },
      { type: 'local_shell_call', call_id: 'b', action: { type: 'exec', command: ['ls'] } },
      { type: 'local_shell_call_output', call_id: 'b', output: 'files' },
      { type: 'shell_call', call_id: 'c', action: { commands: ['ls'] } },
      { type: 'shell_call_output', call_id: 'c', output: [{ stdout: 's', stderr: '' }] },
    ]
    const { messages } = await respond(items)
    expect(messages.slice(1)).toMatchObject([
      { tool_calls: [{ id: 'a', function: { name: 'apply_patch', arguments: '{"input":"x\\n\\""}' } }] },
      { role: 'tool', tool_call_id: 'a', content: 'done' },
      {
        tool_calls: [
          { id: 'b', function: { name: 'local_shell', arguments: '{"type":"exec","command":["ls"]}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'b', content: 'files' },
      { tool_calls: [{ id: 'c', function: { name: 'shell', arguments: '{"commands":["ls"]}' } }] },
      { role: 'tool', tool_call_id: 'c', content: '{"stdout":"s","stderr":""}' },
    ])
  })

  test('Anthropic’s have their schemas, and unknown ones a 400 by name', async () => {
    const bash = { type: 'bash_20250124', name: 'bash' }
    const editor = { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool' }
    const memory = { type: 'memory_20250818', name: 'memory' }
    const { sent } = await message([user('q')], {
      tools: [bash, editor, memory],
      tool_choice: { type: 'tool', name: 'bash' },
    })
    const properties = sent.tools.map((tool: { function: { name: string; parameters: object } }) => [
      tool.function.name,
      Object.keys((tool.function.parameters as { properties: object }).properties),
    ])
    expect(properties).toEqual([
      ['bash', ['command', 'restart']],
      ['str_replace_based_edit_tool', expect.arrayContaining(['command', 'old_str', 'insert_text'])],
      ['memory', expect.arrayContaining(['command', 'old_path', 'new_path'])],
    ])
    expect(sent.tool_choice).toEqual({ type: 'function', function: { name: 'bash' } })
    const computer = {
      type: 'computer_20250124',
      name: 'computer',
      display_width_px: 1,
      display_height_px: 1,
    }
    const { status, error } = await message([user('q')], { tools: [computer] })
    expect([status, error.message]).toEqual([
      400,
      expect.stringMatching(/^`tools.0.type` is "computer_20250124"/),
    ])
    const shell = await respond([user('q')], { tools: [{ type: 'local_shell' }] })
    expect(shell.error).toMatchObject({
      param: 'tools.0.type',
      message: expect.stringContaining('local_shell'),
    })
  })
})
