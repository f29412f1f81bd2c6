import { expect, test } from 'vitest'
import type { ChatRequest } from './chat-request.ts'
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
  expect(() => selectTools(request(refused, 'auto', true), true)).toThrow('"not" is not supported')
  expect(selectTools(request(refused, 'none'), true)).toBeNull()
})

/** The rules of the grammar for the arguments of the first tool, as node-llama-cpp reads them. */
function grammarOf(parameters: Record<string, unknown>): string {
  const { callable } = selectTools(request(parameters), true)!
  const { oneOf } = callable['one']!.params as unknown as { oneOf: { map: () => unknown[] } }
  const [terminal] = oneOf.map() as [{ resolve: (generator: { rules: Map<string, string> }) => string }]
  const rules = new Map<string, string>()
  const start = terminal.resolve({ rules })
  return `start ${start} ${[...rules.values()].join(' ')}`
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
  expect(() => selectTools(request(parameters, 'auto', true), true)).toThrow('The schema is not supported')
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
  expect(Object.keys(allow('auto', 'two')!.callable)).toEqual(['two'])
  expect(Object.keys(allow('auto', 'two')!.described)).toEqual(['one', 'two'])
  expect(allow('auto', 'two')!.mustCall).toBe(false)
  expect(allow('required', 'one')!.mustCall).toBe(true)
  expect(() => allow('auto', 'three')).toThrow('not in tools')
})
