import { expect, test } from 'vitest'
import { isWholeAnswer, maskTimes } from './probe.ts'
import type { Rewrites } from './target.ts'

const answer = { model: 'mine', created: 1, choices: [{ index: 0, message: { content: 'yes' } }] }
const upstream = JSON.stringify({ ...answer, model: 'engine' })
const isRight = (response: object, rewrites?: Rewrites) =>
  isWholeAnswer(JSON.stringify(response), { answer: upstream, model: 'mine', rewrites })

test('a response must equal the response of the upstream with the model of the request', () => {
  expect(isRight(answer)).toBe(true)
  expect(isRight({ ...answer, model: 'engine' })).toBe(false)
})

test('a target that rewrites responses may rename the model and add fields, but must keep the rest', () => {
  const choices = [{ ...answer.choices[0], refusal: null }]
  expect(isRight({ ...answer, model: 'own', choices, extra: 1 }, 'all')).toBe(true)
  expect(isRight({ ...answer, choices: [] }, 'all')).toBe(false)
  expect(isRight({ ...answer, created: 2 }, 'all')).toBe(false)
})

test('times of a response are masked, other numbers are not', () => {
  expect(maskTimes('{"created":123,"index":4}')).toBe('{"created":\0\0\0,"index":4}')
})
