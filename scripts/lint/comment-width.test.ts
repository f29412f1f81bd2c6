import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '../..')
const columns = 110
/** A comment, unless it is a row of a table or a directive of the linter. */
const isComment = /^\s*(?:\/\/|\/\*\*?|\*|--|#) (?!\||oxlint-disable)/

test('comments have at most 110 columns', () => {
  const patterns = ['*.ts', '*.tsx', '*.mjs', '*.css', '*.sql', '*.py', ':!console/openapi.d.ts']
  const files = execFileSync('git', ['ls-files', '--', ...patterns], { cwd: root, encoding: 'utf8' })
  const long = files
    .trim()
    .split('\n')
    .flatMap((file) =>
      readFileSync(join(root, file), 'utf8')
        .split('\n')
        .flatMap((line, index) =>
          line.length > columns && isComment.test(line) ? [`${file}:${index + 1}`] : [],
        ),
    )
  expect(long).toEqual([])
})
