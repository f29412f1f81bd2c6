import { expect, test } from 'vitest'
import { toGrammarText } from '@berth/grammar/grammar.ts'
import { WorkBudget } from '@berth/grammar/work-budget.ts'
import type { ChatRequest } from './chat-request.ts'
import { createToolGrammars } from './tool-grammars.ts'
import { selectTools } from './tools.ts'

const request = (
  parameters: Record<string, unknown>,
  choice?: ChatRequest['tool_choice'],
  strict = false,
): ChatRequest => ({
  model: 'tiny',
  messages: [{ role: 'user', content: 'Hello' }],
  tools: ['one', 'two'].map((name) => ({ type: 'function', function: { name, parameters, strict } })),
  tool_choice: choice,
})
const refused = { not: {} }

test('tool_choice none needs neither tool support nor valid schemas', () => {
  expect(() => selectTools(request({}), false)).toThrow('does not support tools')
  expect(selectTools(request({}, 'none'), false)).toBeNull()
  expect(selectTools(request(refused, 'none'), true)).toBeNull()
})

/** The grammar of the arguments of the first tool. */
function grammarOf(parameters: Record<string, unknown>, strict = false): string {
  const [tool] = selectTools(request(parameters), true)!.callable
  return toGrammarText(
    createToolGrammars(new WorkBudget(2_000_000), false)(tool!.parameters, tool!.param, {
      strict,
      prefix: 'r',
    }),
  )
}

const property = (schema: unknown) => ({ type: 'object', properties: { one: schema, kind: { enum: ['a'] } } })

test.each<[string, Record<string, unknown>]>([
  ['uniqueItems', property({ type: 'array', items: { type: 'string' }, uniqueItems: true })],
  ['not', property({ not: { type: 'string' } })],
  ['minProperties', property({ type: 'object', minProperties: 1 })],
  ['patternProperties', property({ type: 'object', patternProperties: { '^x-': {} } })],
  ['if', property({ if: { type: 'string' }, else: { minLength: 1 } })],
  ['dependentRequired', { ...property({}), dependentRequired: { one: ['kind'] } }],
  ['unevaluatedProperties', { ...property({}), unevaluatedProperties: false }],
  ['an extension', property({ 'x-order': 1, type: 'string' })],
  ['the format uri-reference', property({ type: 'string', format: 'uri-reference' })],
  ['the format byte', property({ type: 'string', format: 'byte' })],
  ['a word boundary', property({ type: 'string', pattern: '^\\bx' })],
  ['a Unicode property', property({ type: 'string', pattern: '^\\p{L}+$' })],
  ['overlapping oneOf', property({ oneOf: [{ type: 'string' }, { type: 'string', maxLength: 9 }] })],
  ['a minLength above 1000', property({ type: 'string', minLength: 2_000 })],
  ['a required name without a description', { ...property({}), required: ['other'] }],
  ['a reference that leads nowhere', { ...property({}), allOf: [{ $ref: '#/$defs/missing' }] }],
])('a tool that is not strict may have %s, and the grammar keeps the rest', (_what, parameters) => {
  expect(() => grammarOf(parameters, true)).toThrow('The schema is not supported')
  expect(grammarOf(parameters)).toContain('"\\"a\\""')
})

test('a reference without a target leaves any object', () => {
  expect(() => grammarOf({ type: 'object', properties: { one: { $ref: '#/$defs/missing' } } })).not.toThrow()
})

test('tool_choice allowed_tools: only the listed tools, which may or must be called', () => {
  const allow = (mode: 'auto' | 'required', name: string) =>
    selectTools(
      request(
        {},
        {
          type: 'allowed_tools',
          allowed_tools: { mode, tools: [{ type: 'function', function: { name } }] },
        },
      ),
      true,
    )
  expect(allow('auto', 'two')!.callable.map(({ name }) => name)).toEqual(['two'])
  expect(allow('auto', 'two')!.mustCall).toBe(false)
  expect(allow('required', 'one')!.mustCall).toBe(true)
  expect(() => allow('auto', 'three')).toThrow('not in tools')
})
