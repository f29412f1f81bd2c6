import { expect, test } from 'vitest'
import { changeLog, maxLines, toText, initialLog } from './log-lines.ts'
import type { FollowedLog, LogChange } from './log-lines.ts'

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString()
const line = (second: number, words = `line ${second}`) => ({
  at: at(second),
  line: words,
  instance: 'one',
})
const follow = (...changes: LogChange[]) => changes.reduce(changeLog, initialLog)
const read = ({ log }: FollowedLog) => log.lines.map((one) => one.line)

test('a line that arrives while the history loads appears once', () => {
  const log = follow(
    { type: 'connected' },
    { type: 'line', line: line(2) },
    { type: 'line', line: line(3) },
    { type: 'history', lines: [line(1), line(2)] },
    { type: 'line', line: line(4) },
  )
  expect(read(log)).toEqual(['line 1', 'line 2', 'line 3', 'line 4'])
  expect(log.isLoading).toBe(false)
})

test('after a reconnect, missed lines are added and older lines stay', () => {
  const log = follow(
    { type: 'connected' },
    { type: 'history', lines: [line(1), line(2)] },
    { type: 'disconnected' },
    { type: 'connected' },
    { type: 'history', lines: [line(2), line(3), line(4)] },
    { type: 'line', line: line(5) },
  )
  expect(read(log)).toEqual(['line 1', 'line 2', 'line 3', 'line 4', 'line 5'])
  expect(log.disconnected).toBe(false)
  expect(new Set(log.log.lines.map(({ number }) => number)).size).toBe(5)
})

test('streamed lines survive a failed history request', () => {
  const error = new Error('no')
  const log = follow(
    { type: 'connected' },
    { type: 'line', line: line(1) },
    { type: 'failed', error },
    { type: 'line', line: line(2) },
  )
  expect(read(log)).toEqual(['line 1', 'line 2'])
  expect(log.error).toBe(error)
})

test('the oldest lines are dropped', () => {
  const many = Array.from({ length: maxLines + 5 }, (_, index) => line(index))
  const log = follow({ type: 'history', lines: many })
  expect(read(log)).toHaveLength(maxLines)
  expect(read(log)[0]).toBe('line 5')
  expect(toText([line(1)])).toBe('2026-01-01T00:00:01.000Z line 1')
})
