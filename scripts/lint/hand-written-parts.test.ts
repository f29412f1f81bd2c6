import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '../..')
const page = readFileSync(join(root, 'docs/decisions/0013-hand-written-parts.md'), 'utf8')
const rows = page.split('\n').filter((line) => line.startsWith('| `'))

/** The paths in the first column of a row. A name without a folder is beside the one before it. */
function readPaths(row: string): string[] {
  let folder = ''
  return [...row.split(' | ', 1)[0]!.matchAll(/`([^`]+)`/g)].map(([, name]) => {
    const path = name!.includes('/') ? name! : join(folder, name!)
    folder = dirname(path)
    return path
  })
}

test('every hand-written part that decision 13 lists exists', () => {
  const paths = rows.flatMap(readPaths)
  const missing = paths.filter((path) => !['', 'server/src'].some((at) => existsSync(join(root, at, path))))
  expect(paths.length).toBeGreaterThan(20)
  expect(missing).toEqual([])
})

test('decision 13 lists every file of the gateway, which is hand-written throughout', () => {
  const listed = rows.flatMap(readPaths).map((path) => path.replace(/^server\/src\//, ''))
  const parts = readdirSync(join(root, 'server/src/gateway'), { withFileTypes: true })
    .filter(({ name }) => !name.endsWith('.test.ts'))
    .map((entry) => `gateway/${entry.name}${entry.isDirectory() ? '/' : ''}`)
  expect(parts.filter((part) => !listed.includes(part))).toEqual([])
})
