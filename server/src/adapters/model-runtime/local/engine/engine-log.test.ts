import { appendFile, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { hideFolder, limitLog, readLog, rotateLog } from './engine-log.ts'

let folder: string
let log: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-log-'))
  log = join(folder, 'engine.log')
})
afterEach(() => rm(folder, { recursive: true }))

test('reads the rotated log together with the new one', async () => {
  await rotateLog(log)
  expect(await readLog(log, 5)).toEqual([])
  await writeFile(log, '2026-01-02T03:04:05Z one\n2026-01-02T03:04:06Z two\n')
  await rotateLog(log)
  await writeFile(log, '2026-01-02T03:04:07Z three\n')
  expect((await readLog(log, 2)).map(({ line }) => line)).toEqual(['two', 'three'])
  await rotateLog(log)
  expect((await readLog(log, 9)).map(({ line }) => line)).toEqual(['three'])
})

test('hides where the server keeps its data', async () => {
  await writeFile(log, `2026-01-02T03:04:05Z loading ${folder}/weights/a.gguf\n`)
  expect((await readLog(log, 1)).map(hideFolder(folder))).toMatchObject([{ line: 'loading weights/a.gguf' }])
})

test('truncates a log that is too long and keeps one rotated copy', async () => {
  const line = `${'x'.repeat(99)}\n`
  await writeFile(log, line.repeat(50_000))
  await limitLog(log)
  expect((await stat(log)).size).toBe(5_000_000)
  await appendFile(log, line.repeat(40_000))
  await limitLog(log)
  expect((await stat(log)).size).toBe(0)
  expect((await readFile(`${log}.1`)).length).toBe(9_000_000)
  await appendFile(log, 'the last\n')
  expect((await readLog(log, 3)).map((each) => each.line.length)).toEqual([99, 99, 8])
})

test('a line without a timestamp gets the time of the previous line, or of the file', async () => {
  await writeFile(log, 'early\n2026-01-02T03:04:05.678Z timed\n  at somewhere\n')
  const at = new Date('2026-01-02T03:04:05.678Z')
  expect(await readLog(log, 9)).toEqual([
    { at: (await stat(log)).mtime, line: 'early' },
    { at, line: 'timed' },
    { at, line: '  at somewhere' },
  ])
})
