import { expect, test } from 'vitest'
import { compileGrammar } from '../test/support/compile-grammar.ts'
import { toGrammar } from './grammar.ts'

const list = { type: 'object', required: ['v', 'next'], additionalProperties: false }
test.each<[schema: object, matching: string[], others: string[]]>([
  [{ type: 'integer' }, ['0', '-5', '123456'], ['1.5', '01', '-', '1e3']],
  [{ type: 'integer', minimum: -7, maximum: 123 }, ['-7', '0', '99', '123'], ['-8', '124', '1000']],
  [{ type: 'integer', exclusiveMinimum: 0, maximum: 5 }, ['1', '5'], ['0', '6', '-1']],
  [{ type: 'integer', minimum: 18 }, ['18', '19', '20', '100', '12345'], ['17', '1', '-18', '0']],
  [{ type: 'number' }, ['0', '-1.5', '2e10'], ['1e999', '.5']],
  [{ type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 }, ['0.5', '0.001'], ['0', '1', '0.0', '1.0']],
  [
    { type: 'number', minimum: -1.25, maximum: 2.5 },
    ['-1.25', '-1.2', '-1', '0', '2.5', '2.4999', '-0.3'],
    ['-1.26', '2.51', '-1.251', '2.6', '3'],
  ],
  [{ type: 'number', minimum: 0 }, ['0', '3', '3.14'], ['-1']],
  [{ type: 'number', multipleOf: 0.5 }, ['0.5', '1.0', '-12.5'], ['0.4', '1.25']],
  [{ type: 'integer', multipleOf: 5, minimum: 10 }, ['10', '15', '1005'], ['5', '12', '101']],
  [{ type: 'integer', multipleOf: 1000 }, ['0', '1000', '-2000'], ['500', '1500']],
  [{ type: 'string', format: 'date' }, ['"2024-02-29"'], ['"2023-02-29"', '"2023-13-01"']],
  [{ type: 'string', format: 'ipv6' }, ['"::1"', '"2001:db8::1"', '"1:2:3:4:5:6:7:8"'], ['"1:2"', '":::"']],
  [{ type: 'string', pattern: 'a' }, ['"xay"', '"a"', '"\\"a"'], ['"b"', '""']],
  [
    { type: 'string', pattern: '^[\\w.-]+$', minLength: 2, maxLength: 3 },
    ['"ab"', '"-.z"'],
    ['"a"', '"abcd"'],
  ],
  [{ type: 'string', pattern: '^(?!.*foo)[a-z]+$' }, ['"bar"', '"fo"'], ['"foo"', '"xfoo"']],
  [{ type: 'string', pattern: '^é\\u{1F600}?$' }, ['"é"', '"é😀"'], ['"e"']],
  [{ type: 'string', pattern: '^[\\x00-\\x1f]a$' }, ['"\\na"', '"\\ba"'], ['"a"', '"\x01a"', '"']],
  [{ enum: [{ a: 1 }, 'x\n"', 1.5] }, ['{"a":1}', '"x\\n\\""', '1.5'], ['2']],
  [{ type: 'array', items: { type: 'null' }, minItems: 2, maxItems: 3 }, ['[null,null]'], ['[null]', '[]']],
  [{ prefixItems: [{ type: 'null' }], items: { type: 'boolean' } }, ['[null]', '[null, true]'], ['[true]']],
  [{ properties: { a: { type: 'null' } } }, ['{}', '{"a":null}', '{ "a": null }'], ['{"b":1}', '{,}']],
  [
    { properties: { a: { type: 'null' } }, additionalProperties: { type: 'integer' } },
    ['{}', '{"a":null}', '{"a":null,"b":1}', '{"ab":1}', '{"b":1,"c":2}'],
    ['{"a":1}', '{"b":1,"a":1}'],
  ],
  [{ type: 'object' }, ['{}', '{"a":{"b":[1,"x",null]}}'], ['1', '[]']],
  [
    { ...list, properties: { v: { type: 'integer' }, next: { anyOf: [{ $ref: '#' }, { type: 'null' }] } } },
    ['{"v":1,"next":null}', '{"v": 1, "next": {"v": 2, "next": null}}'],
    ['{"v":1}'],
  ],
  [
    { required: ['b'], properties: { 'c/%': { type: 'null' }, b: { $ref: '#/properties/c~1%25' } } },
    ['{"b":null}', '{"c/%":null,"b":null}'],
    ['{"b":1}'],
  ],
  [{ $ref: '#/$defs/a', minimum: 5, $defs: { a: { type: 'integer', maximum: 6 } } }, ['5', '6'], ['4', '7']],
  [{ type: 'integer', anyOf: [{ maximum: 1, minimum: 0 }, { minimum: 9 }] }, ['0', '9'], ['2', '"x"']],
])('%j', async (schema, matching, others) => {
  const matches = await compileGrammar(toGrammar(schema))
  expect(matching.filter((text) => !matches(text))).toEqual([])
  expect(others.filter((text) => matches(text))).toEqual([])
})

test.each<[reason: string, schema: unknown]>([
  ['must be an object', 7],
  ['"type"', { type: 'text' }],
  ['"not"', { not: { type: 'string' } }],
  ['"uniqueItems"', { type: 'array', uniqueItems: true }],
  ['"\\$ref" must be a JSON pointer', { $ref: 'https://example.com/schema' }],
  ['"\\$ref" must be a JSON pointer', { $ref: '#/$defs/x' }],
  ['"\\$ref" must be a JSON pointer', { $ref: '#/$defs/constructor', $defs: {} }],
  ['refers to itself', { anyOf: [{ $ref: '#' }, { type: 'null' }] }],
  ['"enum" must be a list', { enum: [] }],
  ['NUL', { enum: ['a\0b'] }],
  ['NUL', { properties: { 'a\0b': {} } }],
  ['at most 1000', { type: 'string', minLength: 1e9 }],
  ['must not exceed', { type: 'array', minItems: 3, maxItems: 2 }],
  ['"required" must list names', { type: 'object', required: ['x'] }],
  ['"required" must be a list', { type: 'object', properties: {}, required: 1 }],
  ['"oneOf" can overlap', { oneOf: [{ type: 'string' }, { type: 'string', maxLength: 3 }] }],
  ['combines schemas recursively', { allOf: [{ $ref: '#' }] }],
  ['no number is within its bounds', { type: 'integer', minimum: 2, maximum: 1 }],
  ['"multipleOf" supports', { type: 'integer', multipleOf: 1013 }],
  ['not a valid regular expression', { type: 'string', pattern: '[a' }],
  ['uses a backreference', { type: 'string', pattern: '(a)\\1' }],
  ['too complex', { type: 'string', pattern: '.*a.{900}' }],
  ['no string matches', { type: 'string', pattern: '^a$', minLength: 2 }],
  ['no string matches', { type: 'string', pattern: '\\x01' }],
  ['the format "iban"', { type: 'string', format: 'iban' }],
])('rejects a schema: %s', (reason, schema) => {
  expect(() => toGrammar(schema)).toThrow(new RegExp(reason))
})
