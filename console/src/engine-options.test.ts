import { expect, test } from 'vitest'
import { parseEngineOptions, writeEngineOptions } from './engine-options.ts'

test('options are read as people write them, and written so that they are read again', () => {
  const written = ['kv-cache-dtype=fp8', ' --enforce-eager', 'enable-prefix-caching=false', 'seed=-1', '']
  const options = { 'kv-cache-dtype': 'fp8', 'enforce-eager': true, 'enable-prefix-caching': false, seed: -1 }
  expect(parseEngineOptions(written)).toEqual(options)
  expect(parseEngineOptions(writeEngineOptions(options))).toEqual(options)
  expect(parseEngineOptions(['a={"b=c": 1}'])).toEqual({ a: '{"b=c": 1}' })
  expect(() => parseEngineOptions(['=x'])).toThrow(RangeError)
})
