import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { parseBody } from '../../src/base/parse-body.ts'
import { chatRequestBody } from '../../src/chat/chat-request.ts'
import { toTemplateMessages } from '../../src/chat/history.ts'
import { toToolRequest } from '../../src/chat/legacy-functions.ts'
import { ModelTemplate } from '../../src/template/model-template.ts'

/** The folder with templates, and the Python with Jinja2, that `npm run test:templates` provides. */
const folder = process.env['TEST_TEMPLATES']!
const python = process.env['TEST_TEMPLATES_PYTHON']!

const sources = Object.fromEntries(
  readdirSync(folder)
    .filter((name) => name.endsWith('.jinja'))
    .map((name) => [basename(name, '.jinja'), readFileSync(join(folder, name), 'utf8')]),
)

const question = { role: 'user', content: 'What is the weather in Paris?' }
const system = { role: 'system', content: 'Be brief.' }
const result = { role: 'tool', tool_call_id: 'call00001', content: '{"t": 007}\n"two"' }
const given = '{"city": "Paris", "days": 2}'
const call = {
  role: 'assistant',
  content: '',
  tool_calls: [{ id: 'call00001', type: 'function', function: { name: 'get_weather', arguments: given } }],
}
const thought = { ...call, reasoning_content: 'I need the tool.' }
const tools = [
  {
    type: 'function',
    function: {
      name: 'get_weather',
      description: 'Returns the weather of a city.',
      parameters: {
        type: 'object',
        properties: {
          city: { type: 'string', description: 'The "name"' },
          days: { type: 'integer', minimum: 1 },
          units: { type: 'string', enum: ['C', 'F'] },
        },
        required: ['city'],
      },
    },
  },
  {
    type: 'function',
    function: { name: 'get_time', description: 'Time', parameters: { type: 'object', properties: {} } },
  },
]

const conversations: Record<string, { messages: object[]; tools?: object[] }> = {
  'a question': { messages: [question] },
  'a system text': { messages: [system, question] },
  'several turns': {
    messages: [
      system,
      question,
      { role: 'assistant', content: 'Sunny.' },
      { role: 'user', content: ' é\n"x"' },
    ],
  },
  tools: { messages: [system, question], tools },
  'a call': { messages: [question, call], tools },
  'a result': { messages: [question, call, result], tools },
  'a thought': { messages: [question, thought, result], tools },
  'a second turn': {
    messages: [
      question,
      thought,
      result,
      { role: 'assistant', content: 'It is sunny.', reasoning_content: 'Done.' },
      { role: 'user', content: 'Thanks' },
    ],
    tools,
  },
}

const special = { bos_token: '<s>', eos_token: '</s>', unk_token: '<unk>', pad_token: '<pad>' }
const ggml = {
  tokens: Object.values(special),
  bos_token_id: 0,
  eos_token_id: 1,
  unknown_token_id: 2,
  padding_token_id: 3,
}

type Rendered = { text: string } | { error: string }

/** The variables of the reference: what the engine gives to the template, as JSON. */
function toVariables(template: Pick<ModelTemplate, 'mentions' | 'toArguments'>, name: string) {
  const { messages, tools: shown } = conversations[name]!
  const request = toToolRequest(parseBody(chatRequestBody, { model: 'm', messages }))
  return {
    messages: toTemplateMessages(request.messages, template),
    ...(shown === undefined ? {} : { tools: shown }),
    add_generation_prompt: true,
  }
}

/** Renders all conversations with Jinja2, with arguments as objects or as texts. */
function renderReference(form: 'object' | 'text'): Record<string, Record<string, Rendered>> {
  const template = {
    mentions: (word: string) => word !== 'developer',
    toArguments: (text: string): unknown => (form === 'text' ? text : JSON.parse(text)),
  }
  const contexts = Object.fromEntries(
    Object.keys(conversations).map((name) => [name, { ...toVariables(template, name), ...special }]),
  )
  const now = new Date()
  const english = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat('en-US', options).format(now)
  const day = String(now.getDate()).padStart(2, '0')
  const month = String(now.getMonth() + 1).padStart(2, '0')
  const input = JSON.stringify({
    templates: sources,
    conversations: contexts,
    now: {
      '%d %b %Y': `${day} ${english({ month: 'short' })} ${now.getFullYear()}`,
      '%Y-%m-%d': `${now.getFullYear()}-${month}-${day}`,
      '%d %B %Y': `${day} ${english({ month: 'long' })} ${now.getFullYear()}`,
      '%B %d, %Y': `${english({ month: 'long' })} ${day}, ${now.getFullYear()}`,
    },
  })
  const script = join(import.meta.dirname, 'reference.py')
  const output = execFileSync(python, [script], { input, maxBuffer: 2 ** 30, encoding: 'utf8' })
  return JSON.parse(output) as Record<string, Record<string, Rendered>>
}

const references = { object: renderReference('object'), text: renderReference('text') }
const names = Object.keys(sources).toSorted()

/** A template that Jinja2 can render at all */
const isRendered = (name: string): boolean =>
  Object.values(references).some((reference) => 'text' in reference[name]!['a question']!)

test.each(names.filter(isRendered))('%s gives the prompts of transformers, or the error', (name) => {
  const template = new ModelTemplate({ ggml, chat_template: sources[name] }, () => {})
  const form = typeof template.toArguments('{}') === 'string' ? 'text' : 'object'
  for (const conversation of Object.keys(conversations)) {
    const expected = references[form][name]![conversation]!
    const render = () => template.render(toVariables(template, conversation))
    if ('text' in expected) expect(render(), conversation).toBe(expected.text)
    else expect(render, `${conversation}: ${expected.error}`).toThrow()
  }
})

test.each(names.filter((name) => !isRendered(name)))('%s fails the start', (name) => {
  expect(() => new ModelTemplate({ ggml, chat_template: sources[name] }, () => {})).toThrow(
    "The model's chat template can't be rendered",
  )
})

test('58 or more templates render', () => {
  const whole = names.filter(isRendered)
  console.log(
    `${whole.length} of ${names.length} templates render; ${names.length - whole.length} fail the start`,
  )
  expect(whole.length).toBeGreaterThanOrEqual(58)
})
