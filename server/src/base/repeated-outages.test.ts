import { expect, test } from 'vitest'
import { createLog } from './log.ts'
import { createOutageFilter } from './repeated-outages.ts'

const refused = (port: number) =>
  Object.assign(new Error('connect'), { code: 'ECONNREFUSED', address: '127.0.0.1', port })

test('an outage has one line for each cause in a minute, and the next one counts those left out', () => {
  let now = 0
  const judge = createOutageFilter(() => now)
  expect([judge(refused(1)), judge(refused(1)), judge(refused(2))].map(({ isWritten }) => isWritten)).toEqual(
    [true, false, true],
  )
  expect(judge(new Error('Connection terminated unexpectedly')).isWritten).toBe(true)
  expect(judge(new Error('Connection terminated due to connection timeout')).isWritten).toBe(false)
  now = 60_000
  expect(judge(refused(1))).toEqual({ isWritten: true, leftOut: 1 })
})

test('errors that are no outage are all written', () => {
  const lines: string[] = []
  const log = createLog({ level: 'info' }, (line) => void lines.push(line))
  for (const _time of [1, 2]) {
    log.error({ err: new Error('a bug') }, 'failed')
    log.child({ reqId: 'r' }).error({ err: refused(1) }, 'failed')
    log.info('an event')
  }
  expect(lines.map((line) => JSON.parse(line).err?.message ?? null)).toEqual([
    'a bug',
    'connect',
    null,
    'a bug',
    null,
  ])
})
