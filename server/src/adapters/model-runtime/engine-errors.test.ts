import { expect, test } from 'vitest'
import { readEngineError } from './engine-errors.ts'

test.each([
  [
    'vLLM 0.32',
    "This model's maximum context length is 512 tokens. However, your prompt contains 905 input tokens, which exceeds this limit even without any output tokens. Please reduce the length of the input prompt.",
    905,
    512,
  ],
  [
    'vLLM 0.32, which stops to count',
    "This model's maximum context length is 512 tokens. However, your prompt contains at least 513 input tokens, which exceeds this limit even without any output tokens.",
    null,
    512,
  ],
  [
    'vLLM 0.32, which counts characters',
    "This model's maximum context length is 512 tokens. However, your prompt contains 99000 characters (more than 8192 characters, which is the upper bound for 512 input tokens).",
    null,
    512,
  ],
  [
    'vLLM 0.11',
    "This model's maximum context length is 2048 tokens. However, your request has 9005 input tokens. Please reduce the length of the input messages.",
    9005,
    2048,
  ],
  [
    'vLLM 0.8',
    "This model's maximum context length is 2048 tokens. However, you requested 9205 tokens (9005 in the messages, 200 in the completion). Please reduce the length of the messages or completion.",
    9005,
    2048,
  ],
  ['vLLM', "Input length (9005) exceeds model's maximum context length (2048).", 9005, 2048],
  [
    'vLLM',
    'The decoder prompt (length 9005) is longer than the maximum model length of 2048. Make sure that…',
    9005,
    2048,
  ],
  [
    'vLLM',
    'The decoder prompt (length 2048) plus the number of requested output tokens (at least 1) is longer than the maximum model length of 2048. Make…',
    2048,
    2048,
  ],
  [
    'llama-server',
    'request (9005 tokens) exceeds the available context size (2048 tokens), try increasing it',
    9005,
    2048,
  ],
  [
    'llama-server',
    'input (9005 tokens) is larger than the max context size (2048 tokens). skipping',
    9005,
    2048,
  ],
  [
    'llama-server',
    'input (905 tokens) is too large to process. increase the physical batch size (current batch size: 512)',
    905,
    512,
  ],
  ['SGLang', "The input (9005 tokens) is longer than the model's context length (2048 tokens).", 9005, 2048],
  ['Transformers', 'Prompt length 9005 reaches or exceeds context_length 2048, leaving…', 9005, 2048],
])('%s says that a request is too long', (_engine, message, requestTokens, contextTokens) => {
  const overflow = { contextTokens, requestTokens }
  for (const body of [{ error: { message, code: 400 } }, { detail: `[address=a:1, pid=2] ${message}` }]) {
    expect(readEngineError({ body: JSON.stringify(body) })).toEqual({ isModelLost: false, overflow })
  }
})

test('other errors are read if they are in FastAPI’s shape', () => {
  expect(readEngineError({ body: '{"detail":"no"}' })).toEqual({ isModelLost: false, message: 'no' })
  const own =
    "This model's maximum context length is 2048 tokens, but the messages have 9005 tokens. Shorten the messages."
  expect(readEngineError({ body: JSON.stringify({ error: { message: own } }) })).toBeNull()
})

test.each([
  [
    "Unable to generate parser for this template. Automatic parser generation failed: \n------------\nWhile executing CallExpression at line 1, column 65 in source:\n...{{ raise_exception('Conversation roles…\n   ^\nError: Jinja Exception: Conversation roles must alternate user/assistant",
    'The chat template of the model refuses this conversation: Conversation roles must alternate user/assistant',
  ],
  [
    'Unable to generate parser for this template. Automatic parser generation failed: JSON schema error at #/properties/x: schema must be an object',
    "The schema of a tool can't be converted: #/properties/x: schema must be an object.",
  ],
])('a chat template’s refusal is one sentence: %j', (message, sentence) => {
  expect(readEngineError({ body: JSON.stringify({ error: { message, code: 400 } }) })).toEqual({
    isModelLost: false,
    isRefused: true,
    message: sentence,
  })
})
