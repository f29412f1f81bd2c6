import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { trimLockfile } from '../trim-lockfile.ts'

test('package-lock.json holds no engine builds that no host needs; `node scripts/trim-lockfile.ts` removes them', () => {
  const text = readFileSync(join(import.meta.dirname, '../../package-lock.json'), 'utf8')
  expect(text === trimLockfile(text)).toBe(true)
})
