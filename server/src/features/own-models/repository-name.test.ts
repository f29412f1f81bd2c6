import { expect, test } from 'vitest'
import { parseRepositoryName } from './repository-name.ts'

test.each([
  ['Qwen/Qwen3-0.6B', 'Qwen/Qwen3-0.6B', null],
  ['  Qwen/Qwen3-0.6B\n', 'Qwen/Qwen3-0.6B', null],
  ['https://huggingface.co/Qwen/Qwen3-0.6B', 'Qwen/Qwen3-0.6B', null],
  ['https://huggingface.co/Qwen/Qwen3-0.6B/', 'Qwen/Qwen3-0.6B', null],
  ['huggingface.co/Qwen/Qwen3-0.6B?library=vllm', 'Qwen/Qwen3-0.6B', null],
  ['https://hf-mirror.example/a/b/tree/refs%2Fpr%2F1', 'a/b', 'refs/pr/1'],
  ['https://huggingface.co/a/b/blob/v1.0/model.gguf', 'a/b', 'v1.0'],
])('%j is %s', (text, name, revision) => {
  expect(parseRepositoryName(text)).toEqual({ name, revision })
})

test.each([
  '',
  'Qwen3',
  'a/b/c',
  '../b',
  'a/..',
  '-a/b',
  'a b/c',
  'file:///etc/passwd',
  'https://huggingface.co/Qwen',
  'https://huggingface.co/spaces/../../etc',
  'https://huggingface.co/a/b/tree/%zz',
  `${'a'.repeat(97)}/b`,
])('%j is no repository', (text) => {
  expect(parseRepositoryName(text)).toBeNull()
})
