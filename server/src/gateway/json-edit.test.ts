import fc from 'fast-check'
import { expect, test } from 'vitest'
import { locateMembers, replaceValues } from './json-edit.ts'

test('locates values among whitespace, escapes and nested members of the same name', () => {
  const text =
    ' { "a" : {"model":"no","b":["}",{"model":1}]} ,\n"mo\\u0064el": "say \\"model\\": x" , "z":-1.5e3}'
  const members = locateMembers(text, new Set(['model', 'z']))
  expect(members.map(({ start, end }) => text.slice(start, end))).toEqual(['"say \\"model\\": x"', '-1.5e3'])
})

test('locates duplicate members', () => {
  const text = '{"model":"one","model":["two"]}'
  const edited = replaceValues(text, locateMembers(text, new Set(['model'])), () => '"three"')
  expect(edited).toBe('{"model":"three","model":"three"}')
})

test('locates nothing in an empty object', () => {
  expect(locateMembers(' {  } ', new Set(['model']))).toEqual([])
})

test('replaces one member of any object and leaves the others unchanged', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue()),
      fc.jsonValue(),
      fc.boolean(),
      (others, model, spaced) => {
        const text = JSON.stringify({ ...others, model, end: 1 }, null, spaced ? 2 : 0)
        const edited = replaceValues(text, locateMembers(text, new Set(['model'])), () => '"new"')
        expect(JSON.parse(edited)).toEqual({ ...JSON.parse(text), model: 'new' })
      },
    ),
  )
})
