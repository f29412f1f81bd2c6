import { expect, test } from 'vitest'
import { listEngineRoutes } from './engine-routes.ts'

const routes = { completions: null, messages: '0.11.1', count_tokens: '0.18.0' }

test.each([
  ['0.18.0', ['completions', 'messages', 'count_tokens']],
  ['0.100', ['completions', 'messages', 'count_tokens']],
  ['0.12.0', ['completions', 'messages']],
  ['0.9.9', ['completions']],
  [null, ['completions']],
])('an engine of version %s has the routes that its version has', (version, expected) => {
  expect([...listEngineRoutes({ routes, version })]).toEqual(expected)
})
