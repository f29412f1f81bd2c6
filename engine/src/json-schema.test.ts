import { expect, test } from 'vitest'
import { isTooDeep, narrowNumbers, toGrammarSchema } from './json-schema.ts'

const strict = (schema: unknown) => toGrammarSchema(schema, { param: 'schema', lenient: false })
const lenient = (schema: unknown) => toGrammarSchema(schema, { param: 'schema', lenient: true })

test('keeps supported keywords', () => {
  expect(
    strict({
      title: 'Person',
      type: 'object',
      required: ['name'],
      additionalProperties: false,
      properties: {
        name: { type: 'string', maxLength: 20 },
        born: { type: 'string', format: 'date' },
        age: { type: ['integer', 'null'] },
        tags: { type: 'array', items: { enum: ['a', 'b'] }, maxItems: 3 },
      },
    }),
  ).toEqual({
    type: 'object',
    additionalProperties: false,
    properties: {
      name: { type: 'string', maxLength: 20 },
      born: { type: 'string', format: 'date' },
      age: { oneOf: [{ type: 'integer' }, { type: 'null' }] },
      tags: { type: 'array', items: { enum: ['a', 'b'] }, maxItems: 3 },
    },
  })
})

test('follows references to "$defs" and to the older "definitions"', () => {
  const schema = strict({ $ref: '#/definitions/node', definitions: { node: { type: 'boolean' } } })
  expect(schema).toEqual({ $ref: '#/$defs/node', $defs: { node: { type: 'boolean' } } })
})

test('allows any property in an object that describes none', () => {
  expect(strict({ type: 'object' })).toMatchObject({ additionalProperties: true })
  expect(strict({ type: 'object', properties: {} })).toMatchObject({ additionalProperties: false })
})

test.each([
  ['no object', 7],
  ['an unknown type', { type: 'text' }],
  ['an unknown keyword', { type: 'string', allOf: [] }],
  ['a negation', { not: { type: 'string' } }],
  ['a foreign reference', { $ref: 'https://example.com/schema' }],
  ['a reference to nothing', { $ref: '#/$defs/x' }],
  ['an empty enum', { enum: [] }],
  ['an enum of objects', { enum: [{}] }],
  ['a NUL in an enum', { enum: ['a\0b'] }],
  ['a NUL in a name', { properties: { 'a\0b': {} } }],
  ['an absurd length', { type: 'string', minLength: 1e9 }],
  ['crossed bounds', { type: 'array', minItems: 3, maxItems: 2 }],
  ['a required name without a schema', { type: 'object', required: ['x'] }],
  ['a required that is no list', { type: 'object', properties: {}, required: 1 }],
  ['a prototype', { $ref: '#/$defs/constructor' }],
])('refuses %s', (_, schema) => {
  expect(() => lenient(schema)).toThrow(/The schema is not supported at/)
})

test('ignores value constraints in tool parameters and rejects them in response_format', () => {
  const schema = { type: 'string', pattern: '^a', format: 'email' }
  expect(lenient(schema)).toEqual({ type: 'string' })
  expect(() => strict(schema)).toThrow('"pattern" is not supported')
})

test('detects deep nesting without a stack overflow', () => {
  const nested = (depth: number): unknown => JSON.parse('['.repeat(depth) + ']'.repeat(depth))
  expect(isTooDeep(nested(50))).toBe(false)
  expect(isTooDeep(nested(10_000))).toBe(true)
})

test('forbids exponents in integers and limits them in other numbers', () => {
  const digits = '("0" | [1-9] [0-9]{0,15})'
  const exponent = `([eE] [-+]? ${digits})?`
  expect(narrowNumbers(`a ::= "-"? ${digits} ${exponent} "x"`)).toBe(`a ::= "-"? ${digits} "x"`)
  expect(narrowNumbers(`a ::= "-"? ${digits} ("." [0-9]{1,16})? ${exponent}`)).toBe(
    `a ::= "-"? ${digits} ("." [0-9]{1,16})? ([eE] [-+]? ("0" | [1-9] [0-9]?))?`,
  )
})
