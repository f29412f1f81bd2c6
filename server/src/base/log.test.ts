import { expect, test } from 'vitest'
import { createLog } from './log.ts'

const fields = { reqId: 'a-1', model: 'a "quoted"\nname', status: 200, stream: false, broken_by: null }
const members = JSON.stringify(fields).slice(1, -1)

test('infoMembers writes the line of info', () => {
  const lines: string[] = []
  const log = createLog({ level: 'info', name: 'berth' }, (line) => void lines.push(line))
  log.info(fields, 'request')
  log.infoMembers(members, 'request')
  const [expected, written] = lines.map((line) => line.replace(/"time":\d+/, '"time":0'))
  expect(written).toBe(expected)
})

test('infoMembers writes nothing above its level', () => {
  const lines: string[] = []
  const log = createLog({ level: 'warn' }, (line) => void lines.push(line))
  log.infoMembers(members, 'request')
  log.level = 'info'
  log.infoMembers(members, 'request')
  expect(lines).toHaveLength(1)
})
