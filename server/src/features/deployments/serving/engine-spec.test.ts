import { expect, test } from 'vitest'
import { deriveEngineKey } from './engine-spec.ts'

test('each deployment has its own stable engine key', () => {
  const key = deriveEngineKey('secret', 'one')
  expect(deriveEngineKey('secret', 'one')).toBe(key)
  expect(deriveEngineKey('secret', 'two')).not.toBe(key)
  expect(deriveEngineKey('another secret', 'one')).not.toBe(key)
  expect(Buffer.from(key, 'base64url')).toHaveLength(32)
})
