import { expect, test } from 'vitest'
import { checkTemplate } from '../../src/adapters/model-runtime/local/engine/check-template.ts'
import { makeFolder, makeSettings, openRuntime } from './local-runtime-support.ts'

const rights = { account: null, prefix: [] }
const chat = `{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>{% endfor %}`
const long = `{% for a in range(101) %}${'a'.repeat(1000)}{% endfor %}`
const endless = '{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}'
const growing =
  '{% set n = namespace(x=["a"]) %}{% for a in range(99) %}{% set n.x = n.x + n.x %}{% endfor %}'
const briefly = { milliseconds: 10_000, heapMebibytes: 128 }
const patiently = { milliseconds: 300_000, heapMebibytes: 128 }

test.each([
  ['takes too long', endless, null, briefly],
  ['takes too long', chat, endless, briefly],
  ['takes too much memory', growing, null, patiently],
  ['takes too much memory', chat, growing, patiently],
  ['renders a short message to more than 100,000 characters', long, null, patiently],
])('a template that %s is no template of a model', async (reason, chatTemplate, toolTemplate, limits) => {
  expect(await checkTemplate({ chatTemplate, toolTemplate }, rights, limits)).toContain(reason)
})

test.each([
  ['an ordinary one', chat],
  ['one that a start refuses with its reason', '{{ raise_exception("no") }}'],
  ['one with deep parentheses', `{{ ${'('.repeat(20_000)}1${')'.repeat(20_000)} }}`],
])('%s takes nothing', async (_name, chatTemplate) => {
  expect(await checkTemplate({ chatTemplate, toolTemplate: null }, rights, patiently)).toBeNull()
})

test('the runtime checks templates for the engine that renders them as JavaScript', async () => {
  const runtime = await openRuntime(makeSettings(await makeFolder()))
  const check = (format: string, chatTemplate: string) =>
    runtime.checkChatTemplate?.({ format, chatTemplate, toolTemplate: null })
  expect(await check('ggufv2', long)).toContain('100,000')
  expect(await check('ggufv2', chat)).toBeNull()
  expect(await check('pytorch', long)).toBeNull()
})
