import { expect, test } from 'vitest'
import { createCircuitBreakers } from './circuit-breakers.ts'

function setUp() {
  let now = 0
  const breakers = createCircuitBreakers(() => now)
  return {
    breakers,
    fail: (times: number) => {
      for (let count = 0; count < times; count += 1) breakers.onFailure('a')
    },
    wait: (milliseconds: number) => {
      now += milliseconds
    },
  }
}

test('three consecutive failures open the breaker for a second', () => {
  const { breakers, fail, wait } = setUp()
  fail(2)
  expect(breakers.isOpen('a')).toBe(false)
  fail(1)
  expect([breakers.isOpen('a'), breakers.isOpen('b')]).toEqual([true, false])
  wait(999)
  expect(breakers.isOpen('a')).toBe(true)
  wait(1)
  expect(breakers.isOpen('a')).toBe(false)
})

test('a half-open breaker lets one request through', () => {
  const { breakers, fail, wait } = setUp()
  fail(3)
  wait(1_000)
  breakers.onSend('a')
  expect(breakers.isOpen('a')).toBe(true)
  breakers.onSuccess('a')
  expect([breakers.isOpen('a'), breakers.size()]).toEqual([false, 0])
})

test('each further failure doubles the open time, up to 30 s', () => {
  const { breakers, fail, wait } = setUp()
  fail(4)
  wait(1_999)
  expect(breakers.isOpen('a')).toBe(true)
  wait(1)
  expect(breakers.isOpen('a')).toBe(false)
  fail(20)
  wait(29_999)
  expect(breakers.isOpen('a')).toBe(true)
  wait(1)
  expect(breakers.isOpen('a')).toBe(false)
})

test('the number of tracked upstreams is limited', () => {
  const { breakers } = setUp()
  for (let count = 0; count < 10_005; count += 1) breakers.onFailure(String(count))
  expect(breakers.size()).toBe(10_000)
})
