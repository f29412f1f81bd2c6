import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compileGrammar } from '../../test/support/compile-grammar.ts'
import { GrammarWriter } from '../grammar-writer.ts'
import { refuseSchema } from '../schema/json-schema.ts'
import { toNumberExpression } from './number-grammar.ts'
import { NumberLimitsError } from './number-limits.ts'
import type { NumberLimits } from './number-limits.ts'

/** Returns whether llama.cpp accepts a text as a number within the limits, or null if there is no number. */
async function compile(limits: NumberLimits): Promise<((text: string) => boolean) | null> {
  const writer = new GrammarWriter(refuseSchema)
  const expression = toNumberExpression(limits, (rule) => writer.add(rule))
  return expression === null ? null : compileGrammar({ start: writer.add(expression), rules: writer.rules })
}

const small = fc.integer({ min: -2500, max: 2500 })
const hundredths = small.map((value) => value / 100)
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })
const isWithin = (value: number, limits: NumberLimits): boolean =>
  value >= (limits.minimum ?? -Infinity) &&
  value <= (limits.maximum ?? Infinity) &&
  value > (limits.exclusiveMinimum ?? -Infinity) &&
  value < (limits.exclusiveMaximum ?? Infinity)
const bounds = <T>(value: fc.Arbitrary<T>) => ({
  minimum: maybe(value),
  maximum: maybe(value),
  exclusiveMinimum: maybe(value),
  exclusiveMaximum: maybe(value),
})

test('accepts exactly the integers within the limits', async () => {
  const anyLimits = fc.record({
    integer: fc.constant(true),
    ...bounds(small),
    multipleOf: maybe(fc.integer({ min: 1, max: 60 })),
  })
  await fc.assert(
    fc.asyncProperty(anyLimits, fc.array(small, { minLength: 1 }), async (limits, values) => {
      const matches = await compile(limits)
      const expected = values.filter(
        (value) => isWithin(value, limits) && value % (limits.multipleOf ?? 1) === 0,
      )
      expect(values.filter((value) => matches?.(String(value)) === true)).toEqual(expected)
    }),
  )
})

test('accepts exactly the decimals within the limits', async () => {
  const anyLimits = fc
    .record({ integer: fc.constant(false), ...bounds(hundredths) })
    .filter((limits) => Object.values(limits).some((bound) => typeof bound === 'number'))
  await fc.assert(
    fc.asyncProperty(anyLimits, fc.array(small, { minLength: 1 }), async (limits, values) => {
      const matches = await compile(limits)
      const given = Object.values(limits).filter((bound) => typeof bound === 'number')
      const texts = values.flatMap((value) => [
        `${value}`,
        (value / 10).toFixed(1),
        (value / 100).toFixed(2),
        (value / 1000).toFixed(3),
      ])
      for (const bound of given) texts.push(...[0, 1, 2, 3, 4].map((places) => bound.toFixed(places)))
      const canonical = texts.filter((text) => !/^-[0.]+$/.test(text))
      expect(canonical.filter((text) => matches?.(text) === true)).toEqual(
        canonical.filter((text) => isWithin(Number(text), limits)),
      )
    }),
  )
})

test.each<[NumberLimits, string[], string[]]>([
  [{ integer: true }, ['0', '-1', '9007199254740991'], ['00', '-', '1.0', '1e2', '12345678901234567']],
  [{ integer: false }, ['0.5', '-1.25e-7', '1E+10'], ['.5', '1.', '1e999']],
  [{ integer: false, multipleOf: 0.25 }, ['0.25', '1.50', '-100.75'], ['0.3', '1.5', '1']],
  [{ integer: true, multipleOf: 1.5 }, ['0', '3', '-6'], ['1', '2', '4']],
  [{ integer: true, multipleOf: 2, exclusiveMaximum: 0 }, ['-2', '-100'], ['0', '-1', '2']],
  [{ integer: true, multipleOf: 1000 }, ['0', '7000', '-1000'], ['700', '1', '07000']],
  [{ integer: false, exclusiveMinimum: 1 }, ['1.5', '1.0001', '2'], ['1', '1.0', '1.000', '0.999']],
  [{ integer: false, maximum: 0 }, ['0', '0.0', '0.000', '-0.5'], ['0.1', '0.001']],
  [{ integer: false, minimum: 2, maximum: 2 }, ['2', '2.0', '2.00'], ['2.01', '1.99']],
  [{ integer: false, minimum: -1.5 }, ['-1.5', '-1.50', '2'], ['-1.501']],
  [{ integer: false, maximum: 1e-3 }, ['0.001', '0.0001', '-5'], ['0.0011', '0.01']],
])('%j', async (limits, matching, others) => {
  const matches = (await compile(limits))!
  expect(matching.filter((text) => !matches(text))).toEqual([])
  expect(others.filter(matches)).toEqual([])
})

test.each<[NumberLimits]>([
  [{ integer: true, minimum: 2, maximum: 1 }],
  [{ integer: true, exclusiveMinimum: 1, exclusiveMaximum: 2 }],
  [{ integer: true, multipleOf: 7, minimum: 8, maximum: 13 }],
])('there is no number in %j', async (limits) => {
  expect(await compile(limits)).toBeNull()
})

test.each<[NumberLimits, string]>([
  [{ integer: false, multipleOf: 0 }, '"multipleOf" must be positive'],
  [{ integer: true, multipleOf: 1013 }, '"multipleOf" supports larger steps only between close bounds'],
  [{ integer: true, minimum: 1e16 }, 'a bound exceeds 999999999999999'],
  [{ integer: false, minimum: 1e-40 }, 'a bound has more than 30 decimals'],
])('rejects %j: %s', async (limits, message) => {
  await expect(compile(limits)).rejects.toThrow(new NumberLimitsError(message))
})
