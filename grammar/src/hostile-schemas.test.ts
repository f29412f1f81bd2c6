import { expect, test } from 'vitest'
import { combineTwice, hostileSchemas, properties } from '../test/support/hostile-schemas.ts'
import { toGrammar, toGrammarText } from './grammar.ts'
import { SchemaTooComplexError } from './schema/json-schema.ts'
import { WorkBudget } from './work-budget.ts'

test.each(hostileSchemas)('%s: too much work names "%s"', (_name, keyword, schema) => {
  expect(() => toGrammar(schema)).toThrow(new RegExp(`"${keyword}"`))
})

test('what many references combine is merged once', () => {
  const grammar = toGrammarText(
    toGrammar(
      combineTwice(
        90,
        properties(3, () => ({ type: 'string' })),
      ),
    ),
  )
  expect(grammar).toContain('p2')
})

test('a budget is for all of its schemas', () => {
  const budget = new WorkBudget(20_000)
  const convert = () => toGrammar({ type: 'string', format: 'date' }, { budget })
  expect(() => Array.from({ length: 3 }, convert)).toThrow(SchemaTooComplexError)
})

test('a long list of values becomes a tree, in which few branches may go on at once', () => {
  const values = Array.from({ length: 1000 }, (_, index) => `value number ${index}`)
  const { rules, start } = toGrammar({ enum: values })
  const widest = Math.max(...[...rules.values()].map((text) => text.split(' | ').length))
  expect([start, widest]).toEqual([expect.any(String), 11])
})
