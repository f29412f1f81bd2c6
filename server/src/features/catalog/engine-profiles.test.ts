import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import type { ModelVariant } from '../../ports/model-variant.ts'
import { validateModels } from './sources/file-schema.ts'
import { readCatalogFile } from './sources/file.ts'

const { models } = readCatalogFile(fileURLToPath(new URL('../../../../catalog/models.yaml', import.meta.url)))
const vllmFormats = ['pytorch', 'awq', 'gptq', 'fp8']

function profileOf(id: string): NonNullable<ModelVariant['engines']> {
  const model = models.find((each) => each.id === id)
  return model!.default.engines
}

describe('the shipped catalog', () => {
  // From vLLM 0.28 (docs: tool_calling.md, reasoning_outputs.md) and the versions that added the models.
  test.each([
    ['qwen3.5', 'qwen3_coder', 'qwen3', '0.17.0'],
    ['qwen3.6', 'qwen3_coder', 'qwen3', '0.17.0'],
    ['qwen3.8', 'qwen3_coder', 'qwen3', '0.17.0'],
    ['qwen3', 'hermes', 'qwen3', undefined],
    ['qwq-32b', 'hermes', 'deepseek_r1', undefined],
    ['gpt-oss', 'openai', 'openai_gptoss', '0.12.0'],
    ['glm-4.5', 'glm45', 'glm45', '0.12.0'],
    ['deepseek-r1-0528', 'deepseek_v3', 'deepseek_r1', undefined],
    ['deepseek-v3.1', 'deepseek_v31', 'deepseek_v3', '0.12.0'],
    ['granite-4.0-micro', 'granite4', undefined, '0.18.0'],
    ['olmo-3-instruct', 'olmo3', undefined, '0.12.0'],
    ['olmo-3-think', undefined, 'olmo3', '0.12.0'],
    ['seed-oss', 'seed_oss', 'seed_oss', '0.12.0'],
    ['gemma-4', 'gemma4', 'gemma4', '0.19.1'],
    ['deepseek-v3.2', 'deepseek_v32', 'deepseek_v3', '0.18.0'],
    ['deepseek-v4-flash', 'deepseek_v4', 'deepseek_v4', '0.20.0'],
    ['glm-4.6', 'glm45', 'glm45', '0.12.0'],
    ['glm-5.3', 'glm47', 'glm45', '0.28.0'],
    ['kimi-k2.7-code', 'kimi_k2', 'kimi_k2', '0.19.1'],
    ['minimax-m3', 'minimax_m3', 'minimax_m3', '0.25.0'],
    ['mistral-medium-3.5', 'mistral', 'mistral', '0.18.0'],
    ['nemotron-3-super', 'qwen3_xml', 'nemotron_v3', '0.17.1'],
    ['granite-4.1', 'granite4', undefined, '0.18.0'],
  ])(
    '%s: tool parser %s, reasoning parser %s, vLLM %s',
    (id, toolParser, reasoningParser, minimumVersion) => {
      const { vllm } = profileOf(id)
      expect(vllm).toMatchObject({ toolParser, reasoningParser, minimumVersion })
    },
  )

  test('DeepSeek models have the chat templates that their tool parsers need', () => {
    for (const [id, name] of [
      ['deepseek-r1-0528', 'deepseekr1'],
      ['deepseek-v3.1', 'deepseekv31'],
    ] as const) {
      expect(profileOf(id).vllm?.chatTemplate).toBe(
        `/vllm-workspace/examples/tool_chat_template_${name}.jinja`,
      )
    }
  })

  /** Models whose tool calls vLLM can't parse. */
  const withoutParser = new Set(['berth-tiny', 'llama-3.1-nemotron-nano'])

  test('every other model with the tag tools has a tool parser', () => {
    const missing = models.filter(
      ({ tags, variants }) =>
        tags.includes('tools') &&
        variants.some(({ format, engines }) => vllmFormats.includes(format) && !engines.vllm?.toolParser),
    )
    expect(missing.map(({ id }) => id)).toEqual([...withoutParser].filter((id) => id !== 'berth-tiny'))
  })
})

describe('rejected with the place', () => {
  function mistakesOf(engines: object, changes: object = {}): string[] {
    const model = {
      id: 'm',
      model_name: 'm',
      display_name: 'M',
      provider: 'p',
      family: 'f',
      model_type: 'LLM',
      description: 'd',
      license: 'l',
      context_length: 4096,
      engines,
      sizes: [
        {
          billions: 1,
          variants: [{ format: 'pytorch', quantizations: ['none'], weights: { huggingface: 'a/b' } }],
        },
      ],
      default: { format: 'pytorch', billions: 1, quantization: 'none' },
      ...changes,
    }
    return validateModels({ models: [model] }).mistakes.map(
      ({ path, message }) => `${path.slice(2).join('.')}: ${message}`,
    )
  }

  test('valid engines', () => {
    expect(
      mistakesOf({
        vllm: { minimum_version: '0.17.0', tool_parser: 'hermes', options: { seed: 1 } },
        llama_cpp: { minimum_build: 9128, projector: 'mmproj.gguf' },
        xinference: { model_name: 'Chat-A', separates_reasoning: true },
      }),
    ).toEqual([])
    const own = { tool_parser: 'mine', options: { 'tool-parser-plugin': '/mine.py' } }
    expect(mistakesOf({ vllm: own }), 'a parser of a plugin').toEqual([])
  })

  test.each<[object, RegExp]>([
    [{ vllm: { tool_parser: 'hermes2' } }, /^engines\.vllm\.tool_parser: is not a parser of vLLM/],
    [{ vllm: { reasoning_parser: 'hermes' } }, /^engines\.vllm\.reasoning_parser: is not a parser/],
    [{ vllm: { minimum_version: '0.17' } }, /^engines\.vllm\.minimum_version: must be a version/],
    [{ vllm: { options: { port: 1 } } }, /^engines\.vllm\.options\.port: is set by Berth/],
    [{ vllm: { options: { '--seed': 1 } } }, /^engines\.vllm\.options\.--seed: /],
    [{ llama_cpp: { projector: '../x.gguf' } }, /^engines\.llama_cpp\.projector: must be a \.gguf file/],
    [{ llama_cpp: { options: { 'cache-ram': 1 } } }, /^engines\.llama_cpp\.options\.cache-ram: is set/],
    [{ xinference: { options: { n_gpu: 1 } } }, /^engines\.xinference\.options\.n_gpu: is set/],
    [{ tgi: {} }, /^engines\.tgi: is not a known field/],
  ])('%o', (engines, message) => {
    expect(mistakesOf(engines)).toEqual([expect.stringMatching(message)])
  })

  const commit = '0123456789abcdef0123456789abcdef01234567'
  test.each<[string, object, object, RegExp | null]>([
    ['a branch', {}, {}, /^sizes\.0\.variants\.0\.weights: must have a commit as revision/],
    ['a tag', {}, { revision: 'v1.0' }, /must have a commit/],
    ['one quantization without a commit', {}, { revision: { Int4: commit } }, /must have a commit/],
    ['the option as a text', { 'trust-remote-code': 'true' }, {}, /must have a commit/],
    ['another tokenizer', { tokenizer: 'c/d' }, { revision: commit }, /can't be combined with tokenizer/],
    ['a commit', {}, { revision: commit }, null],
    ['a commit of each', {}, { revision: { Int4: commit, Int8: commit } }, null],
    ['the option turned off', { 'trust-remote-code': false }, {}, null],
    ['local files', {}, { huggingface: undefined, file: 'model-{quantization}' }, null],
  ])('trust-remote-code with %s', (_what, options, source, message) => {
    const variant = {
      format: 'gptq',
      quantizations: ['Int4', 'Int8'],
      weights: JSON.parse(JSON.stringify({ huggingface: 'a/b-{quantization}', ...source })),
    }
    const changes = {
      sizes: [{ billions: 1, variants: [variant] }],
      default: { format: 'gptq', billions: 1, quantization: 'Int4' },
    }
    const mistakes = mistakesOf({ vllm: { options: { 'trust-remote-code': true, ...options } } }, changes)
    expect(mistakes).toEqual(message === null ? [] : [expect.stringMatching(message)])
  })

  test('a reasoning model for vLLM without a reasoning parser', () => {
    const changes = { tags: ['reasoning'] }
    expect(mistakesOf({}, changes)).toEqual([
      expect.stringMatching(/^sizes\.0: must have engines\.vllm\.reas/),
    ])
    expect(mistakesOf({ vllm: { reasoning_parser: 'qwen3' } }, changes)).toEqual([])
  })
})
