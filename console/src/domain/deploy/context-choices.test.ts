import { expect, test } from 'vitest'
import { listContextChoices } from './context-choices.ts'

test('contexts above what the model or the operator allows are not offered', () => {
  expect(listContextChoices({ context_tokens: 32_768, context_limited_by: 'model' })).toEqual([
    8_192, 16_384, 32_768,
  ])
  expect(listContextChoices({ context_tokens: 1_024, context_limited_by: 'ceiling' })).toEqual([])
})

test('every context is offered if more memory could give it, or nothing is known', () => {
  const all = [8_192, 16_384, 32_768, 65_536, 131_072, 262_144]
  expect(listContextChoices({ context_tokens: 20_000, context_limited_by: 'memory' })).toEqual(all)
  expect(listContextChoices({ context_tokens: null, context_limited_by: null })).toEqual(all)
  expect(listContextChoices(undefined)).toEqual(all)
})

test('a chosen context stays on offer', () => {
  const plan = { context_tokens: 8_192, context_limited_by: 'model' } as const
  expect(listContextChoices(plan, 5_000)).toEqual([5_000, 8_192])
  expect(listContextChoices(plan, 8_192)).toEqual([8_192])
})
