import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createStateWriter, isStillWanted } from './state.ts'

let directory: string
beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'berth-state-'))))
afterEach(() => rmSync(directory, { recursive: true }))

const launch = (text: string): void => writeFileSync(join(directory, 'launch.json'), text)

test.each([
  ['{"nonce":"one","more":1}', true],
  ['{"nonce":"two"}', false],
  ['{"nonce":"on', false],
  ['null', false],
  ['', false],
])('reads launch.json %j', (text, wanted) => {
  launch(text)
  expect(isStillWanted(directory, 'one')).toBe(wanted)
})

test('treats a missing launch.json as a dismissal', () => {
  expect(isStillWanted(directory, 'one')).toBe(false)
})

test('merges changes and leaves no temporary file', () => {
  launch('{"nonce":"one"}')
  const write = createStateWriter(directory, 'one')
  write({})
  write({ port: 4000 })
  write({ phase: 'ready' })
  const state: unknown = JSON.parse(readFileSync(join(directory, 'engine.json'), 'utf8'))
  expect(state).toMatchObject({ nonce: 'one', pid: process.pid, phase: 'ready', port: 4000, error: null })
  expect(readdirSync(directory).toSorted()).toEqual(['engine.json', 'launch.json'])
})

test('does not overwrite the state of a newer launch', () => {
  launch('{"nonce":"one"}')
  const write = createStateWriter(directory, 'one')
  launch('{"nonce":"two"}')
  write({ phase: 'ready' })
  expect(readdirSync(directory)).toEqual(['launch.json'])
})
