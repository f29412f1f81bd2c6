import { expect, test } from 'vitest'
import { isWholeAnswer, maskTimes } from './probe.ts'

const answer = { model: 'engine', created: 1, choices: [{ index: 0, message: { content: 'yes' } }] }
const upstream = JSON.stringify(answer)

test('a response must equal the response of the upstream', () => {
  expect(isWholeAnswer(upstream, upstream, false)).toBe(true)
  expect(isWholeAnswer(JSON.stringify({ ...answer, model: 'own' }), upstream, false)).toBe(false)
})

test('a target that rewrites responses may rename the model and add fields, but must keep the rest', () => {
  const choices = [{ ...answer.choices[0], refusal: null }]
  expect(isWholeAnswer(JSON.stringify({ ...answer, model: 'own', choices, extra: 1 }), upstream, true)).toBe(
    true,
  )
  expect(isWholeAnswer(JSON.stringify({ ...answer, choices: [] }), upstream, true)).toBe(false)
  expect(isWholeAnswer(JSON.stringify({ ...answer, created: 2 }), upstream, true)).toBe(false)
})

test('times of a response are masked, other numbers are not', () => {
  expect(maskTimes('{"created":123,"index":4}')).toBe('{"created":\0\0\0,"index":4}')
})
