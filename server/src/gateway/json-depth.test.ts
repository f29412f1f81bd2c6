import { expect, test } from 'vitest'
import { depthAt } from './json-depth.ts'

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
