import { expect, it } from 'vitest'
import { noParameters } from './parameter-texts.ts'
import { readParameters } from './parameters.ts'

it('omits empty fields', () => {
  expect(readParameters(noParameters)).toEqual({ values: {}, errors: {} })
})

it('reads numbers with a decimal point or comma, stop sequences, tools and additional JSON', () => {
  const texts = {
    system: 'Be brief.',
    temperature: ' 0,7 ',
    top_p: '0.9',
    max_tokens: '64',
    seed: '0',
    stop: 'END\n\n\\n\\n',
    tools: '[{"type": "function", "function": {"name": "look"}}]',
    extra: '{"top_k": 40}',
  }
  expect(readParameters(texts)).toEqual({
    values: {
      temperature: 0.7,
      top_p: 0.9,
      max_tokens: 64,
      seed: 0,
      stop: ['END', '\n\n'],
      tools: [{ type: 'function', function: { name: 'look' } }],
      top_k: 40,
    },
    errors: {},
  })
})

it('reports an error per field', () => {
  const { values, errors } = readParameters({
    ...noParameters,
    temperature: 'hot',
    top_p: '1.5',
    max_tokens: '0',
    seed: '1.5',
    stop: 'a\nb\nc\nd\ne',
    tools: '{}',
    extra: '[]',
  })
  expect(values).toEqual({})
  expect(Object.keys(errors).toSorted()).toEqual([
    'extra',
    'max_tokens',
    'seed',
    'stop',
    'temperature',
    'tools',
    'top_p',
  ])
  for (const tools of ['[1]', '[null]', '[{}]', '[']) {
    expect(readParameters({ ...noParameters, tools }).errors.tools).toBeDefined()
  }
  expect(readParameters({ ...noParameters, extra: '{"model": "x"}' }).errors.extra).toContain('model')
  expect(readParameters({ ...noParameters, extra: '{' }).errors.extra).toBeDefined()
})
