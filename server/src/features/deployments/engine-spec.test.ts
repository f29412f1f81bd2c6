import { expect, test } from 'vitest'
import { deriveEngineKey } from './engine-spec.ts'

test('an engine’s key is the same for the same deployment, and no other’s', () => {
  const key = deriveEngineKey('secret', 'one')
  expect(deriveEngineKey('secret', 'one')).toBe(key)
  expect(deriveEngineKey('secret', 'two')).not.toBe(key)
  expect(deriveEngineKey('another secret', 'one')).not.toBe(key)
  expect(Buffer.from(key, 'base64url')).toHaveLength(32)
})
