import { expect, test } from 'vitest'
import { toGrammar, toGrammarText } from '@berth/grammar/grammar.ts'
import { ModelTemplate } from '../template/model-template.ts'
import { compileText } from '../../../grammar/test/support/compile-grammar.ts'
import { MarkedAnswerReader } from '../calls/answer-reader.ts'
import type { ReadPiece } from '../calls/answer-reader.ts'
import type { CallFormat } from '../calls/call-format.ts'
import { createAnswerGrammar } from '../calls/call-grammar.ts'
import { HarmonyReader } from '../calls/harmony-reader.ts'

const head = `{% for m in messages %}{% if m.role == 'assistant' %}<|a|>{{ '<think>' + m.reasoning_content + '</think>' if m.reasoning_content }}{{ m.content }}`
const tail = `<|e|>{% else %}<|u|>{{ m.content }}{{ tools | length if tools }}<|e|>{% endif %}{% endfor %}{% if add_generation_prompt %}<|a|>{% endif %}`
const each = (call: string) => `${head}{% for c in m.tool_calls or [] %}${call}{% endfor %}${tail}`

/** Own templates that write calls in the ways of the families. */
const templates: Record<string, string> = {
  json: each(
    `\n<tool_call>\n{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}\n</tool_call>`,
  ),
  bare: each(`{{ {"name": c.function.name, "parameters": c.function.arguments} | tojson }}`),
  list: `${head}{% if m.tool_calls %}[TOOL_CALLS][{% for c in m.tool_calls %}{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}, "id": "{{ c.id }}"}{{ ', ' if not loop.last }}{% endfor %}]{% endif %}${tail}`,
  named: each(`[TOOL_CALLS]{{ c.function.name }}[ARGS]{{ c.function.arguments | tojson }}`),
  tags: each(
    `\n<tool_call>\n<function={{ c.function.name }}>{% for k, v in c.function.arguments | items %}{{ '\\n' }}<parameter={{ k }}>\n{{ v if v is string else v | tojson }}\n</parameter>{% endfor %}{{ '\\n' }}</function>\n</tool_call>`,
  ),
  keys: each(
    `<tool_call>{{ c.function.name }}{% for k, v in c.function.arguments | items %}<arg_key>{{ k }}</arg_key><arg_value>{{ v if v is string else v | tojson }}</arg_value>{% endfor %}</tool_call>`,
  ),
  gemma: each(
    `<|tool_call>call:{{ c.function.name }}{{ '{' }}{% for k, v in c.function.arguments | dictsort %}{{ ',' if not loop.first }}{{ k }}:{{ '<|"|>' + v + '<|"|>' if v is string else v | tojson }}{% endfor %}{{ '}' }}<tool_call|>`,
  ),
}

const read = (name: string): ModelTemplate =>
  new ModelTemplate({ ggml: { tokens: [] }, chat_template: templates[name] }, () => {})

const tools = new Map([
  ['get_weather', { properties: { city: { type: 'string' }, days: { type: 'integer' } } }],
  ['get_time', {}],
])

function readAnswer(name: string, text: string, { step = text.length || 1, most = 16, opened = false } = {}) {
  const { calls, thoughts } = read(name)
  const reader = new MarkedAnswerReader({
    thoughts,
    startsInThought: opened,
    calls: { format: calls as CallFormat, tools, most },
  })
  const pieces: ReadPiece[] = []
  for (let at = 0; at < text.length; at += step) pieces.push(...reader.push(text.slice(at, at + step)))
  pieces.push(...reader.finish())
  const join = (type: string) =>
    pieces.flatMap((piece) => (piece.type === type && 'text' in piece ? [piece.text] : [])).join('')
  return {
    content: join('content'),
    thought: join('reasoning'),
    calls: pieces.flatMap((piece) =>
      piece.type === 'call' ? [[piece.name, JSON.parse(piece.arguments) as unknown]] : [],
    ),
  }
}

const paris = ['get_weather', { city: 'Paris', days: 2 }]
/** Spellings of one call, as models write them. */
const spellings: Record<string, readonly string[]> = {
  json: [
    '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris", "days": 2}}\n</tool_call>',
    '<tool_call>{"arguments":{"city":"Paris","days":2},"name":"get_weather"}</tool_call>',
    '\n<tool_call>  {\n  "name" : "get_weather",\n  "arguments": {"city": "Paris", "days": 2}\n}',
  ],
  bare: [
    '{"name": "get_weather", "parameters": {"city": "Paris", "days": 2}}',
    '\n{"parameters":{"city":"Paris","days":2},"name":"get_weather"}\n',
  ],
  list: [
    '[TOOL_CALLS][{"name": "get_weather", "arguments": {"city": "Paris", "days": 2}}]',
    '[TOOL_CALLS] [{"name":"get_weather","arguments":{"city":"Paris","days":2},"id":"abcdefghi"}]',
  ],
  named: [
    '[TOOL_CALLS]get_weather[ARGS]{"city": "Paris", "days": 2}',
    '[TOOL_CALLS] get_weather [ARGS] {"city":"Paris",\n"days":2}',
  ],
  tags: [
    '<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n<parameter=days>\n2\n</parameter>\n</function>\n</tool_call>',
    '<tool_call><function=get_weather><parameter=city>Paris</parameter><parameter=days>2</parameter></function></tool_call>',
  ],
  keys: [
    '<tool_call>get_weather<arg_key>city</arg_key><arg_value>Paris</arg_value><arg_key>days</arg_key><arg_value>2</arg_value></tool_call>',
    '<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n<arg_key>days</arg_key>\n<arg_value>2</arg_value>\n</tool_call>',
  ],
  gemma: [
    '<|tool_call>call:get_weather{city:<|"|>Paris<|"|>,days:2}<tool_call|>',
    '<|tool_call>call: get_weather{days: 2, city: <|"|>Paris<|"|>}<tool_call|>',
  ],
}

test.each(Object.entries(spellings).flatMap(([name, texts]) => texts.map((text) => [name, text] as const)))(
  '%s: %s is the call, in one piece or letter by letter',
  (name, text) => {
    const sorted = ([tool, given]: readonly unknown[]) => [
      tool,
      Object.entries(given as object).toSorted(([one], [other]) => one.localeCompare(other)),
    ]
    for (const step of [1, 3, text.length]) {
      const { calls, content } = readAnswer(name, text, { step })
      expect(calls.map(sorted)).toEqual([sorted(paris)])
      expect(content).toBe('')
    }
  },
)

test.each(Object.keys(templates).filter((name) => name !== 'bare'))(
  '%s: two calls after a text, and what follows them',
  (name) => {
    const call = (index: number) => spellings[name]![0]!.replace('Paris', index === 0 ? 'Rome' : 'Oslo')
    const text =
      name === 'list'
        ? `${call(0).slice(0, -1)}, ${call(1).slice('[TOOL_CALLS]['.length)}`
        : call(0) + call(1)
    const both = readAnswer(name, `Let me look.\n${text}`, { step: 2 })
    expect(both.content).toBe('Let me look.')
    expect(both.calls.map(([, given]) => (given as { city: string }).city)).toEqual(['Rome', 'Oslo'])
    expect(readAnswer(name, text, { most: 1 }).calls).toHaveLength(1)
  },
)

test('a call of an unknown tool, and one that never ends, are text', () => {
  const unknown = '<tool_call>\n{"name": "no_tool", "arguments": {}}\n</tool_call> Done.'
  expect(readAnswer('json', unknown)).toMatchObject({ content: unknown, calls: [] })
  const open = 'See: <tool_call>\n{"name": "get_weather", "arguments": {"city": "Par'
  expect(readAnswer('json', open, { step: 1 })).toMatchObject({ content: open, calls: [] })
  expect(readAnswer('json', 'a <tool b', { step: 1 }).content).toBe('a <tool b')
})

test('thoughts: before a call, opened by the prompt, left open, and none', () => {
  const call = spellings['json']![0]!
  expect(readAnswer('json', `<think>\nhm\n</think>\n\n${call}`, { step: 1 })).toEqual({
    thought: 'hm',
    content: '',
    calls: [paris],
  })
  expect(readAnswer('json', 'hm\n</think>\n\nYes', { opened: true, step: 1 })).toMatchObject({
    thought: 'hm',
    content: 'Yes',
  })
  expect(readAnswer('json', '<think>hm and', { step: 1 })).toMatchObject({ thought: 'hm and', content: '' })
  expect(readAnswer('json', ' 1 < 2 </think>', { step: 1 }).content).toBe(' 1 < 2 </think>')
})

test('numbers of a call keep their digits', () => {
  const given = '{"n": 2512292042121000001, "x": 10.00}'
  const reader = new MarkedAnswerReader({
    thoughts: null,
    startsInThought: false,
    calls: { format: read('json').calls as CallFormat, tools, most: 1 },
  })
  expect(reader.push(`<tool_call>{"name":"get_time","arguments":${given}}</tool_call>`)).toEqual([
    { type: 'call', name: 'get_time', arguments: given },
  ])
})

test.each([
  [
    'the recipient in the channel',
    '<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Paris"}<|call|>',
  ],
  [
    'the recipient in the role',
    ' to=functions.get_weather<|channel|>commentary<|constrain|>json<|message|>{"city": "Paris"}',
  ],
])('gpt-oss: a thought, then a call with %s', (_where, call) => {
  for (const step of [1, 400]) {
    const text = `<|channel|>analysis<|message|>hm<|end|><|start|>assistant${call}`
    const reader = new HarmonyReader({ tools, most: 16 })
    const pieces = []
    for (let at = 0; at < text.length; at += step) pieces.push(...reader.push(text.slice(at, at + step)))
    pieces.push(...reader.finish())
    expect(pieces.filter(({ type }) => type === 'call')).toEqual([
      { type: 'call', name: 'get_weather', arguments: '{"city": "Paris"}' },
    ])
    expect(pieces.filter(({ type }) => type === 'content')).toEqual([])
  }
})

test('gpt-oss: a preamble and the final channel are content, and a call of an unknown tool is text', () => {
  const reader = new HarmonyReader({ tools, most: 1 })
  const text =
    '<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>final<|message|>Sunny.<|return|>'
  const pieces = [...reader.push(text), ...reader.finish()]
  expect(pieces.map((piece) => 'text' in piece && piece.text).join('')).toBe('I look.\n\nSunny.')
  const unknown = new HarmonyReader({ tools, most: 1 })
  expect(unknown.push('<|channel|>commentary to=functions.nope<|message|>{"a": 1}<|call|>')).toMatchObject([
    { type: 'content', text: '{"a": 1}' },
  ])
})

test.each(Object.keys(templates))(
  '%s: the grammar accepts the calls that the template writes, and no others',
  async (name) => {
    const { calls } = read(name)
    const parameters = {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'integer' } },
      required: ['city'],
    }
    const create = (otherwise: 'call' | 'text') =>
      compileText(
        toGrammarText(
          createAnswerGrammar(
            {
              format: calls as CallFormat,
              tools: [{ name: 'get_weather', parameters }],
              most: 2,
              thoughts: null,
              startsInThought: false,
              otherwise,
            },
            (schema, _tool, prefix) => toGrammar(schema, { prefix }),
          ),
        ),
      )
    const [text] = spellings[name]!
    const written = name === 'list' ? text!.replace('}}]', '}, "id": "abcdefghi"}]') : text!
    const forced = await create('call')
    expect([
      forced(written),
      forced(written.replace('get_weather', 'get_time')),
      forced('Hello'),
      forced(written.replace('2', '"2"')),
    ]).toEqual([true, false, false, false])
    const free = await create('text')
    expect([free('Hello'), free(written.replace('get_weather', 'get_time'))]).toEqual([true, false])
  },
)
