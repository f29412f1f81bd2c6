import { expect, test } from 'vitest'
import { GrammarWriter } from './grammar-writer.ts'
import { refuseSchema } from './schema/json-schema.ts'
import { toLiteral, writeStringRules } from './string-grammar.ts'
import type { Ranges } from './strings/ranges.ts'

const refuse = refuseSchema

/** The rules of the strings of one character of the ranges. */
function writeOne(ranges: Ranges) {
  const writer = new GrammarWriter(refuse)
  const states = [
    { accepting: false, edges: [{ ranges, to: 1 }] },
    { accepting: true, edges: [] },
  ]
  return [writeStringRules({ states }, writer), ...writer.rules.values()]
}

test('each state of an automaton is a rule, and the accepting ones end the string', () => {
  expect(writeOne([[97, 122]])).toEqual(['"\\"" r0', '[a-z] r1', '"\\""'])
})

test('a range excludes control characters, except those with an escape', () => {
  expect(writeOne([[1, 0x10ffff]])[1]?.split(' | ')).toEqual([
    String.raw`[\U00000020-\U00000021\U00000023-\U0000005b\U0000005d-\U0000d7ff\U0000e000-\U0010ffff] r1`,
    String.raw`"\\b" r1`,
    String.raw`"\\t" r1`,
    String.raw`"\\n" r1`,
    String.raw`"\\f" r1`,
    String.raw`"\\r" r1`,
    String.raw`"\\\"" r1`,
    String.raw`"\\\\" r1`,
  ])
})

test('a literal is the JSON text between quotes', () => {
  expect(toLiteral({ a: ['"', '\n', null] }, '#', refuse)).toBe(String.raw`"{\"a\":[\"\\\"\",\"\\n\",null]}"`)
  expect(() => toLiteral('a\0', '#/enum', refuse)).toThrow('#/enum: names and values cannot contain the NUL')
})
