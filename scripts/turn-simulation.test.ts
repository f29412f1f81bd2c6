import fc from 'fast-check'
import { expect, test } from 'vitest'
import { simulateTurns } from './turn-simulation.ts'
import type { SimulatedMember } from './turn-simulation.ts'

const person: SimulatedMember = {
  parallel: 1,
  pause: 5_000,
  requests: 20,
  promptTokens: 800,
  outputTokens: 200,
}
const flood: SimulatedMember = {
  parallel: 500,
  pause: 0,
  requests: 500,
  promptTokens: 400,
  outputTokens: 300,
}
const longest = (waits: readonly number[]) => Math.max(0, ...waits)

test('a flood delays the next request of each other member by at most one request of each member', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 8 }),
      fc.array(
        fc.record({
          parallel: fc.constant(1),
          pause: fc.nat(9_000),
          requests: fc.integer({ min: 1, max: 8 }),
          promptTokens: fc.integer({ min: 1, max: 8_000 }),
          outputTokens: fc.integer({ min: 1, max: 1_000 }),
        }),
        { minLength: 1, maxLength: 5 },
      ),
      async (sequences, others) => {
        const sent = await simulateTurns('turns', sequences, [
          { ...flood, parallel: 100, requests: 100 },
          ...others,
        ])
        for (const { userId, overtakenBy } of sent) {
          if (userId > 0) expect(longest([...overtakenBy.values()])).toBeLessThanOrEqual(1)
        }
      },
    ),
    { numRuns: 100 },
  )
})

test('with turns, members wait a fraction of what they wait first come, first served', async () => {
  const members = [flood, person, person, person, person]
  const waits = async (policy: 'turns' | 'first come, first served') =>
    (await simulateTurns(policy, 8, members)).filter(({ userId }) => userId > 0).map(({ waited }) => waited)
  const turns = longest(await waits('turns'))
  const inOrder = longest(await waits('first come, first served'))
  expect(turns).toBeLessThan(7_000)
  expect(inOrder).toBeGreaterThan(100_000)
})

test('members who wait all the time get the same number of tokens, however long their requests are', async () => {
  const busy = { parallel: 200, pause: 0, requests: 10_000 }
  const members = [
    { ...busy, promptTokens: 50, outputTokens: 20 },
    { ...busy, promptTokens: 500, outputTokens: 400 },
    { ...busy, promptTokens: 4_000, outputTokens: 100 },
  ]
  const sent = await simulateTurns('turns', 4, members, 1_000_000)
  const tokens = members.map((_, userId) =>
    sent.filter((request) => request.userId === userId).reduce((sum, each) => sum + each.tokens, 0),
  )
  expect(Math.min(...tokens) / Math.max(...tokens)).toBeGreaterThan(0.9)
})

test('one member alone may use all of a deployment', async () => {
  const alone = await simulateTurns('turns', 8, [flood])
  const inOrder = await simulateTurns('first come, first served', 8, [flood])
  expect(alone.map(({ waited }) => waited)).toEqual(inOrder.map(({ waited }) => waited))
})
