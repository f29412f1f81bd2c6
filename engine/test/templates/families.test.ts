import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import OpenAI from 'openai'
import { afterAll, describe, expect, test } from 'vitest'
import { modelAlias, startEngine } from '../support/engine.ts'
import { cutIntoPieces, findControl, writeScriptedModel } from '../support/scripted-model.ts'

const templates = process.env['TEST_TEMPLATES']!
const folder = mkdtempSync(join(tmpdir(), 'berth-families-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** How the models of a family write calls and thoughts. */
interface Family {
  /** The template, a file of the source package without its ending */
  template: string
  /** One call in three spellings */
  calls: readonly [string, string, string]
  /** Two calls, with the cities Rome and Oslo; null where a turn has one call */
  two: string | null
  thought: { start: string; end: string; isOpened?: boolean } | null
}

const hermes = (template: string, thought: Family['thought'] = null): Family => ({
  template,
  calls: [
    '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>',
    '<tool_call>{"name":"get_weather","arguments":{"city":"Paris"}}</tool_call>',
    '<tool_call>\n{\n  "arguments": {"city": "Paris"},\n  "name": "get_weather"\n}\n</tool_call>',
  ],
  two: '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Rome"}}\n</tool_call>\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>',
  thought,
})

const tags = (template: string, thought: Family['thought'], prefix = ''): Family => {
  const call = (city: string, feed: string) =>
    `<${prefix}tool_call>${feed}<function=get_weather>${feed}<parameter=city>${feed}${city}${feed}</parameter>${feed}</function>${feed}</${prefix}tool_call>`
  return {
    template,
    calls: [
      call('Paris', '\n'),
      call('Paris', ''),
      call('Paris', '\n\n').replace('\n\nParis\n\n', '\nParis\n'),
    ],
    two: `${call('Rome', '\n')}\n${call('Oslo', '\n')}`,
    thought,
  }
}

const think = { start: '<think>', end: '</think>' }
const opened = { ...think, isOpened: true }

const named = (template: string): Family => ({
  template,
  calls: [
    '[TOOL_CALLS]get_weather[ARGS]{"city": "Paris"}',
    '[TOOL_CALLS] get_weather [ARGS] {"city":"Paris"}',
    '[TOOL_CALLS]get_weather[ARGS]{\n  "city": "Paris"\n}',
  ],
  two: '[TOOL_CALLS]get_weather[ARGS]{"city": "Rome"}[TOOL_CALLS]get_weather[ARGS]{"city": "Oslo"}',
  thought: null,
})

/** The families of the catalog with tools and a GGUF variant, of which the source package has a template. */
const families: Record<string, Family> = {
  'qwen2.5': hermes('Qwen-Qwen2.5-7B-Instruct'),
  qwen3: hermes('Qwen-Qwen3-0.6B', think),
  qwq: hermes('Qwen-QwQ-32B', null),
  'granite-4.0': hermes('ibm-granite-granite-4.0'),
  'granite-4.1': hermes('ibm-granite-granite-4.1'),
  'qwen3-coder': tags('Qwen3-Coder', null),
  'qwen3.5': tags('Qwen3.5-4B', opened),
  'seed-oss': tags('ByteDance-Seed-OSS', { start: '<seed:think>', end: '</seed:think>' }, 'seed:'),
  'glm-4.7-flash': {
    template: 'GLM-4.7-Flash',
    calls: [
      '<tool_call>get_weather<arg_key>city</arg_key><arg_value>Paris</arg_value></tool_call>',
      '<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n</tool_call>',
      '<tool_call> get_weather <arg_key>city</arg_key> <arg_value>Paris</arg_value> </tool_call>',
    ],
    two: '<tool_call>get_weather<arg_key>city</arg_key><arg_value>Rome</arg_value></tool_call><tool_call>get_weather<arg_key>city</arg_key><arg_value>Oslo</arg_value></tool_call>',
    thought: opened,
  },
  'llama-3.1': {
    template: 'meta-llama-Llama-3.1-8B-Instruct',
    calls: [
      '{"name": "get_weather", "parameters": {"city": "Paris"}}',
      '{"name":"get_weather","parameters":{"city":"Paris"}}',
      '\n{"parameters": {"city": "Paris"}, "name": "get_weather"}\n',
    ],
    two: null,
    thought: null,
  },
  'mistral-small-3.2': {
    ...named('Mistral-Small-3.2-24B-Instruct-2506'),
    calls: [
      '[TOOL_CALLS]get_weather[CALL_ID]abcdefghi[ARGS]{"city": "Paris"}',
      '[TOOL_CALLS] get_weather [ARGS] {"city":"Paris"}',
      '[TOOL_CALLS]get_weather[ARGS]{\n  "city": "Paris"\n}',
    ],
  },
  'devstral-small': named('unsloth-mistral-Devstral-Small-2507'),
  'ministral-3': named('mistralai-Ministral-3-14B-Reasoning-2512'),
  'mistral-nemo': {
    template: 'mistralai-Mistral-Nemo-Instruct-2407',
    calls: [
      '[TOOL_CALLS][{"name": "get_weather", "arguments": {"city": "Paris"}, "id": "abcdefghi"}]',
      '[TOOL_CALLS] [{"name":"get_weather","arguments":{"city":"Paris"}}]',
      '[TOOL_CALLS][{"arguments": {"city": "Paris"}, "name": "get_weather"}]',
    ],
    two: '[TOOL_CALLS][{"name": "get_weather", "arguments": {"city": "Rome"}}, {"name": "get_weather", "arguments": {"city": "Oslo"}}]',
    thought: null,
  },
  'gemma-4': {
    template: 'google-gemma-4-31B-it',
    calls: [
      '<|tool_call>call:get_weather{city:<|"|>Paris<|"|>}<tool_call|>',
      '<|tool_call> call:get_weather {city: <|"|>Paris<|"|>} <tool_call|>',
      '<|tool_call>call:get_weather{"city":"Paris"}<tool_call|>',
    ],
    two: '<|tool_call>call:get_weather{city:<|"|>Rome<|"|>}<tool_call|><|tool_call>call:get_weather{city:<|"|>Oslo<|"|>}<tool_call|>',
    thought: null,
  },
  'gpt-oss': {
    template: 'openai-gpt-oss-120b',
    calls: [
      '<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Paris"}',
      ' to=functions.get_weather<|channel|>commentary<|constrain|>json<|message|>{"city": "Paris"}',
      '<|channel|>commentary to=functions.get_weather<|message|>{"city":"Paris"}',
    ],
    two: null,
    thought: { start: '<|channel|>analysis<|message|>', end: '<|end|><|start|>assistant' },
  },
}

const tools: OpenAI.ChatCompletionTool[] = ['get_weather', 'get_time'].map((name) => ({
  type: 'function',
  function: {
    name,
    description: 'A tool.',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
}))

interface Answer {
  content: string | null
  thought: string
  calls: string[]
  reason: string | null
}

type Options = Partial<OpenAI.ChatCompletionCreateParamsNonStreaming>

/** Asks a model that writes this text, for a whole answer and for a stream, which must say the same. */
async function ask(family: string, text: string, options: Options = {}): Promise<Answer> {
  const { template: name } = families[family]!
  const template = readFileSync(join(templates, `${name}.jinja`), 'utf8')
  const control = findControl(template)
  const path = join(folder, `${family}.gguf`)
  await writeScriptedModel({ path, template, answer: cutIntoPieces(text, control), control })
  const engine = startEngine({ flags: { '--model': path, '--context': '4096' } })
  try {
    const client = new OpenAI({ baseURL: `${await engine.ready()}/v1`, apiKey: engine.key, maxRetries: 0 })
    const request = {
      model: modelAlias,
      messages: [{ role: 'user' as const, content: 'What is the weather in Paris?' }],
      tools,
      temperature: 0,
      max_tokens: 400,
      ...options,
    }
    const whole = toAnswer((await client.chat.completions.create(request)).choices[0]!)
    const stream = client.chat.completions.stream({ ...request, stream: true })
    let thought = ''
    stream.on('chunk', ({ choices }) => {
      thought += (choices[0]?.delta as { reasoning_content?: string } | undefined)?.reasoning_content ?? ''
    })
    const streamed = toAnswer((await stream.finalChatCompletion()).choices[0]!)
    expect({ ...streamed, thought, content: streamed.content || null }).toEqual({
      ...whole,
      content: whole.content || null,
    })
    return whole
  } finally {
    await engine.stop()
  }
}

function toAnswer({ message, finish_reason: reason }: OpenAI.ChatCompletion.Choice): Answer {
  return {
    content: message.content,
    thought: (message as { reasoning_content?: string }).reasoning_content ?? '',
    calls: (message.tool_calls ?? []).map((call) =>
      call.type === 'function'
        ? `${call.function.name} ${JSON.stringify(JSON.parse(call.function.arguments))}`
        : '',
    ),
    reason,
  }
}

const paris = 'get_weather {"city":"Paris"}'

describe.each(Object.keys(families))('%s', (family) => {
  const { calls, two, thought } = families[family]!
  const isHarmony = family === 'gpt-oss'
  /** What closes a thought that the prompt has opened */
  const before = thought?.isOpened === true ? `Hm.\n${thought.end}\n\n` : ''
  const final = isHarmony ? '<|channel|>final<|message|>' : ''

  test('finds a call in three spellings', async () => {
    for (const call of calls) {
      expect(await ask(family, before + call)).toMatchObject({
        calls: [paris],
        content: null,
        reason: 'tool_calls',
      })
    }
  })

  test.skipIf(two === null)('finds two calls', async () => {
    const { calls: found } = await ask(family, before + two!)
    expect(found).toEqual(['get_weather {"city":"Rome"}', 'get_weather {"city":"Oslo"}'])
  })

  test('a required call and a named one are forced in this syntax', async () => {
    expect((await ask(family, before + calls[0], { tool_choice: 'required' })).calls).toHaveLength(1)
    const choice = { type: 'function' as const, function: { name: 'get_weather' } }
    expect((await ask(family, before + calls[0], { tool_choice: choice })).calls).toEqual([paris])
  })

  test.skipIf(family === 'llama-3.1')('a text before a call is content', async () => {
    const text = isHarmony
      ? '<|channel|>commentary<|message|>Let me look.<|end|><|start|>assistant'
      : 'Let me look.'
    const answer = await ask(family, `${before}${text}${isHarmony ? '' : '\n'}${calls[0]}`)
    expect(answer).toMatchObject({ content: 'Let me look.', calls: [paris] })
  })

  test.skipIf(thought === null)('a thought before a call, and one that stays open', async () => {
    const { start, end, isOpened = false } = thought!
    const open = isOpened ? '' : start
    const answer = await ask(
      family,
      `${open}I need it.${isHarmony ? '' : '\n'}${end}${isHarmony ? '' : '\n\n'}${calls[0]}`,
    )
    expect(answer).toMatchObject({ thought: 'I need it.', content: null, calls: [paris] })
    expect(await ask(family, `${open}I still think`)).toMatchObject({ thought: 'I still think', calls: [] })
  })

  test('a plain answer is content', async () => {
    expect(await ask(family, `${before}${final}It is sunny.`)).toMatchObject({
      content: 'It is sunny.',
      calls: [],
      reason: 'stop',
    })
  })
})
