import { expect, test } from 'vitest'
import { createLog } from './log.ts'

const fields = { reqId: 'a-1', model: 'a "quoted"\nname', status: 200, stream: false, broken_by: null }

test('infoFlat writes the line of info', () => {
  const lines: string[] = []
  const log = createLog({ level: 'info', name: 'berth' }, (line) => void lines.push(line))
  log.info(fields, 'request')
  log.infoFlat(fields, 'request')
  const [expected, written] = lines.map((line) => line.replace(/"time":\d+/, '"time":0'))
  expect(written).toBe(expected)
})

test('infoFlat writes nothing above its level', () => {
  const lines: string[] = []
  const log = createLog({ level: 'warn' }, (line) => void lines.push(line))
  log.infoFlat(fields, 'request')
  log.level = 'info'
  log.infoFlat(fields, 'request')
  expect(lines).toHaveLength(1)
})
