import { expect, test } from 'vitest'
import { depthAt, namesAround } from './json-depth.ts'

test.each([
  ['', 0],
  ['{"a":[', 2],
  ['{"a":[{}],"b":"}]{[\\"{"', 1],
  ['{"a', -1],
  ['{"a\\"', -1],
  [']}', -2],
])('the depth after %j is %i', (text, depth) => {
  expect(depthAt(text, 0, text.length)).toBe(depth)
})

test('starts at an offset with a depth', () => {
  expect(depthAt('{{{]}', 3, 5, 2)).toBe(0)
})

test.each([
  ['{"a":1,"b":{"c":[{"d":', ['b', 'c', 'c']],
  ['{"a":{"x":"}{"},"b\\"":{ "c" : "d" ,', ['b\\"']],
  ['{"a":{},"b":[],"c":', []],
])('the names around the end of %j are %j', (text, names) => {
  expect(namesAround(text, 0, text.length)).toEqual(names)
})
