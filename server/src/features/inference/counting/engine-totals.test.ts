import { expect, test } from 'vitest'
import { readTotals } from './engine-totals.ts'

const vllm = { input: ['vllm:prompt_tokens_total'], output: ['vllm:generation_tokens_total'] }
const llamaCpp = {
  input: ['llamacpp:prompt_tokens_total', 'llamacpp:prompt_tokens_cached_total'],
  output: ['llamacpp:tokens_predicted_total'],
}

test('vLLM: a counter has a line for each of its engines, and histograms with similar names are others', () => {
  const text = `# HELP vllm:prompt_tokens_total Number of prefill tokens processed.
# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{engine="0",model_name="tiny"} 1.25e+06
vllm:prompt_tokens_total{engine="1",model_name="tiny {x} 9"} 50.0
vllm:prompt_tokens_created{engine="0",model_name="tiny"} 1.7e+09
vllm:generation_tokens_total{engine="0",model_name="tiny"} 7
vllm:request_generation_tokens_sum{engine="0",model_name="tiny"} 9
`
  expect(readTotals(text, vllm)).toEqual({ input: 1_250_050, output: 7 })
})

test('llama-server: cached tokens are input, and builds that do not count them have the others', () => {
  const old = 'llamacpp:prompt_tokens_total 12\nllamacpp:tokens_predicted_total 3\n'
  expect(readTotals(old, llamaCpp)).toEqual({ input: 12, output: 3 })
  const cached = `${old}llamacpp:prompt_tokens_cached_total 8\n`
  expect(readTotals(cached, llamaCpp)).toEqual({ input: 20, output: 3 })
})

test('what is no number of tokens is unknown', () => {
  for (const text of [
    '',
    'not found',
    'llamacpp:prompt_tokens_total 12',
    'llamacpp:tokens_predicted_total NaN',
  ]) {
    expect(readTotals(text, llamaCpp), text).toBeNull()
  }
})
