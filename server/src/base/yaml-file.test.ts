import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { loadQuickly } from './yaml-file.ts'

test.each(['models', 'prices', 'instance-types'])(
  '%s.yaml of the bundled catalog: the fast parser loads it',
  (name) => {
    const path = new URL(`../../../catalog/${name}.yaml`, import.meta.url)
    expect(loadQuickly(readFileSync(path, 'utf8'))).toBeDefined()
  },
)

test('a file with anchors: left to the parser that limits their expansion', () => {
  expect(loadQuickly('a: &a 1\nb: *a\n')).toBeUndefined()
})
