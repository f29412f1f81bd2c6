import { expect, test } from 'vitest'
import { toReturnPath } from './return-path.ts'

const site = new URL('https://berth.test')

test.each([
  ['/', '/'],
  ['/deployments/42?tab=logs#end', '/deployments/42?tab=logs#end'],
  ['/a/../b', '/b'],
  ['/naïve path', '/na%C3%AFve%20path'],
  ['/search?next=https://evil.test/', '/search?next=https://evil.test/'],
  ['/@evil.test', '/@evil.test'],
  ['/%2F%2Fevil.test', '/%2F%2Fevil.test'],
  ['/%0d%0aSet-Cookie:a=b', '/%0d%0aSet-Cookie:a=b'],
])('%j is a path of this site', (value, path) => {
  expect(toReturnPath(value, site)).toBe(path)
})

test.each([
  [undefined],
  [''],
  ['deployments'],
  ['https://evil.test/'],
  ['https:evil.test'],
  ['//evil.test'],
  ['///evil.test'],
  ['////evil.test/..'],
  ['/\\evil.test'],
  ['\\\\evil.test'],
  ['/a\\b'],
  ['/\t/evil.test'],
  ['/\n/evil.test'],
  ['\t//evil.test'],
  [' //evil.test'],
  ['/.//evil.test'],
  ['/a/..//evil.test'],
  ['/%2e//evil.test'],
  ['/./%2e%2e//evil.test'],
  ['javascript:alert(1)'],
  ['data:text/html,x'],
  ['@evil.test'],
  ['.evil.test'],
  ['/a\r\nSet-Cookie: a=b'],
  ['/a\u0000'],
  ['/a\u0085'],
  [`/${'a'.repeat(2000)}`],
])('%j falls back to the home page', (value) => {
  expect(toReturnPath(value, site)).toBe('/')
})
