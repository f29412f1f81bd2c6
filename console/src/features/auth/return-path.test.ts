import { expect, test } from 'vitest'
import { toReturnPath } from './return-path.ts'

const origin = 'https://berth.test'

test.each([
  ['/', '/'],
  ['/deployments/42?tab=logs#end', '/deployments/42?tab=logs#end'],
  ['/catalog?q=https://elsewhere.test/', '/catalog?q=https://elsewhere.test/'],
  ['/a/../b', '/b'],
  ['/@elsewhere.test', '/@elsewhere.test'],
  ['/%2F%2Felsewhere.test', '/%2F%2Felsewhere.test'],
])('%j is a path of this site', (value, path) => {
  expect(toReturnPath(value, origin)).toBe(path)
})

test.each([
  [undefined],
  [''],
  ['deployments'],
  ['https://elsewhere.test/'],
  ['//elsewhere.test'],
  ['/\\elsewhere.test'],
  ['/\t/elsewhere.test'],
  ['/.//elsewhere.test'],
  ['/%2e//elsewhere.test'],
  ['javascript:alert(1)'],
  [`/${'a'.repeat(2_000)}`],
])('%j is replaced by the start page', (value) => {
  expect(toReturnPath(value, origin)).toBe('/')
})
