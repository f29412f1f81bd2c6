import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { errorCodes } from './error-codes.ts'

const server = resolve(import.meta.dirname, '../..')

test('every error code is in a test', () => {
  const tests = ['src', 'test'].flatMap((folder) =>
    readdirSync(join(server, folder), { encoding: 'utf8', recursive: true })
      .filter((name) => name.endsWith('.test.ts'))
      .map((name) => readFileSync(join(server, folder, name), 'utf8')),
  )
  const codes = Object.keys(errorCodes)
  expect(codes.filter((code) => !tests.some((text) => new RegExp(`['"]${code}['"]`).test(text)))).toEqual([])
})
