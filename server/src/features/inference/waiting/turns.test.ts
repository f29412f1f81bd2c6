import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Turns } from './turns.ts'
import type { TurnRequest } from './turns.ts'

interface Member {
  promptTokens: number
  outputTokens: number
  /** Turns between a response and the next request */
  pause: number
}

/** Gives `count` turns to members, who send requests one by one. A member without a pause always waits. */
function play(members: readonly Member[], places: number, count: number) {
  const turns = new Turns()
  const open: TurnRequest[] = []
  const waitsFrom = members.map(() => 0)
  /** By waiting member: the requests of each other member since it began to wait */
  const overtaken = new Map<number, number[]>()
  const results: { userId: number; tokens: number; overtakenBy: readonly number[] }[] = []
  for (let turn = 0; turn < count; turn += 1) {
    if (open.length === places) {
      const ended = open.shift()!
      turns.leave(ended)
      const { pause } = members[ended.userId]!
      if (pause > 0) waitsFrom[ended.userId] = turn + pause
    }
    for (const userId of members.keys()) {
      const isNew = waitsFrom[userId]! <= turn && !overtaken.has(userId)
      if (isNew) overtaken.set(userId, Array<number>(members.length).fill(0))
    }
    const userId = turns.next(overtaken.keys())
    const { promptTokens, outputTokens } = members[userId]!
    results.push({ userId, tokens: promptTokens + outputTokens, overtakenBy: overtaken.get(userId)! })
    overtaken.delete(userId)
    for (const counts of overtaken.values()) counts[userId]! += 1
    waitsFrom[userId] = members[userId]!.pause === 0 ? 0 : Infinity
    const request = { userId, promptTokens, generatedTokens: () => outputTokens }
    open.push(request)
    turns.enter(request)
  }
  return results
}

test('a flood delays the next request of each other member by at most one request of each member', () => {
  const tokens = { promptTokens: fc.integer({ min: 1, max: 8_000 }), outputTokens: fc.nat(1_000) }
  const others = fc.array(fc.record({ ...tokens, pause: fc.integer({ min: 1, max: 20 }) }), {
    minLength: 1,
    maxLength: 5,
  })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 8 }), others, (places, members) => {
      const flood = { promptTokens: 400, outputTokens: 300, pause: 0 }
      for (const { userId, overtakenBy } of play([flood, ...members], places, 200)) {
        if (userId > 0) expect(Math.max(...overtakenBy)).toBeLessThanOrEqual(1)
      }
    }),
  )
})

test('members who wait all the time get the same number of tokens, however long their requests are', () => {
  const members = [70, 900, 4_100].map((length) => ({ promptTokens: length, outputTokens: length, pause: 0 }))
  const tokens = members.map(() => 0)
  for (const result of play(members, 4, 20_000)) tokens[result.userId]! += result.tokens
  expect(Math.min(...tokens) / Math.max(...tokens)).toBeGreaterThan(0.9)
})
