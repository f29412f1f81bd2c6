import { expect, test } from 'vitest'
import { createCollector, createHead, toCompletion } from './completion.ts'

test('the pieces add up to the complete answer', () => {
  const collector = createCollector()
  collector.add({ type: 'reasoning', text: 'hm' })
  collector.add({ type: 'tool_call', index: 0, name: 'look' })
  collector.add({ type: 'tool_arguments', index: 0, text: '{"a"' })
  collector.add({ type: 'tool_arguments', index: 0, text: ':1}' })
  const end = { finishReason: 'tool_calls', promptTokens: 3, completionTokens: 4, cachedTokens: 1 } as const
  expect(toCompletion(createHead('m'), [collector.toChoice(0, end)], end)).toMatchObject({
    object: 'chat.completion',
    model: 'm',
    choices: [
      {
        message: {
          content: null,
          reasoning_content: 'hm',
          tool_calls: [{ type: 'function', function: { name: 'look', arguments: '{"a":1}' } }],
        },
        finish_reason: 'tool_calls',
      },
    ],
    usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
  })
})
