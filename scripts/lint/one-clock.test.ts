import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '../..')

/** Times in responses that decide nothing */
const exceptions = [
  'server/src/features/inference/protocols/chat-completions.ts',
  'server/src/features/inference/protocols/responses/to-response.ts',
]

test('features, routes and jobs take the time from `clock`, which is the database’s', () => {
  const folders = ['features', 'gateway', 'http', 'jobs', 'process', 'wiring'].map(
    (folder) => `server/src/${folder}`,
  )
  const files = execFileSync('git', ['ls-files', ...folders, 'payment-sandbox/src'], {
    cwd: root,
    encoding: 'utf8',
  })
    .trim()
    .split('\n')
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  expect(files.length).toBeGreaterThan(300)
  const readers = files.filter((file) =>
    /\bnew Date\(\)|\bDate\.now\b/.test(readFileSync(join(root, file), 'utf8')),
  )
  expect(readers.toSorted()).toEqual(exceptions)
})
