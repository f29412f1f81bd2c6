import { expect, test } from 'vitest'
import type { ChatRequest } from './chat-request.ts'
import { selectTools } from './tools.ts'

const request = (parameters: Record<string, unknown>, choice?: ChatRequest['tool_choice']): ChatRequest => ({
  model: 'tiny',
  messages: [{ role: 'user', content: 'Hello' }],
  tools: [{ type: 'function', function: { name: 'one', parameters } }],
  tool_choice: choice,
})
const refused = { not: {} }

test('tool_choice none needs neither tool support nor valid schemas', () => {
  expect(() => selectTools(request({}), false)).toThrow('does not support tools')
  expect(selectTools(request({}, 'none'), false)).toBeNull()
  expect(() => selectTools(request(refused), true)).toThrow('"not" is not supported')
  expect(selectTools(request(refused, 'none'), true)).toBeNull()
})
