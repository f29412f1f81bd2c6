/** The `engines` section of the catalog file: the settings of model families for each engine. */

import { z } from 'zod'
import type { Mistake } from '../../base/yaml-file.ts'
import type { EngineProfiles } from '../../ports/model-variant.ts'
import { isCommit } from './is-commit.ts'

/** Values of `--tool-call-parser` in vLLM 0.28 to 0.33. */
export const vllmToolParsers: readonly string[] =
  `apertus cohere_command3 cohere_command4 deepseek_v3 deepseek_v31 deepseek_v32 deepseek_v4 dots ernie45 functiongemma gemma4
   gigachat3 glm45 glm47 granite granite-20b-fc granite4 hermes hunyuan_a13b hy_v3 inkling internlm jamba kimi_k2 kimi_k3 lfm2 ling3
   llama3_json llama4_json llama4_pythonic longcat mimo minicpm5 minimax_m2 minimax_m3 mistral muse_glimmer olmo3 openai
   phi4_mini_json poolside_v1 pythonic qwen3_coder qwen3_xml seed_oss step3 step3p5 xlam`.split(/\s+/)

/** Values of `--reasoning-parser` in vLLM 0.28 to 0.33. */
export const vllmReasoningParsers: readonly string[] =
  `cohere_command3 cohere_command4 deepseek_r1 deepseek_v3 deepseek_v4 ernie45 gemma4 glm45 glm47 granite holo2 hunyuan_a13b hy_v3
   inkling kimi_k2 kimi_k3 ling3 mimo minimax_m2 minimax_m2_append_think minimax_m3 mistral muse_glimmer nemotron_v3 olmo3
   openai_gptoss poolside_v1 qwen3 seed_oss step3 step3p5`.split(/\s+/)

/** Options that Berth sets itself, by section. */
const ownOptions = {
  vllm: `model revision tokenizer-revision served-model-name host port api-key max-model-len max-num-seqs tensor-parallel-size
    pipeline-parallel-size nnodes node-rank master-addr headless gpu-memory-utilization allowed-media-domains runner enable-auto-tool-choice tool-call-parser
    reasoning-parser chat-template`.split(/\s+/),
  llama_cpp:
    `model model-url hf-repo hf-file mmproj mmproj-url no-mmproj alias ctx-size parallel n-gpu-layers threads host port api-key
    embeddings pooling batch-size ubatch-size cache-ram chat-template`.split(/\s+/),
  xinference:
    `model_uid model_name model_type model_engine model_format quantization model_size_in_billions replica n_gpu worker_ip
    max_model_len max_num_seqs n_ctx n_parallel context_length reasoning_content`.split(/\s+/),
} satisfies Readonly<Record<string, readonly string[]>>

/** The formats whose variants a section concerns. */
const formats = { vllm: ['pytorch', 'awq', 'gptq', 'fp8', 'fp4', 'compressed'], llama_cpp: ['ggufv2'] }

const text = z.string().trim().min(1, 'must not be empty')

function optionsOf(section: keyof typeof ownOptions, name = /^[a-z][a-z0-9-]*$/) {
  return z
    .record(
      z.string().regex(name, 'must be the name of an option, without leading dashes'),
      z.union([z.string(), z.number(), z.boolean()]),
    )
    .superRefine((options, context) => {
      for (const option of Object.keys(options).filter((each) => ownOptions[section].includes(each))) {
        context.addIssue({
          code: 'custom',
          path: [option],
          message: 'is set by Berth and can not be changed',
        })
      }
    })
    .optional()
}

const vllmSchema = z
  .strictObject({
    minimum_version: z
      .string({ error: 'must be in quotes' })
      .regex(/^\d+\.\d+\.\d+$/, 'must be a version such as 0.17.0')
      .optional(),
    tool_parser: text.optional(),
    reasoning_parser: text.optional(),
    chat_template: text.optional(),
    options: optionsOf('vllm'),
  })
  .superRefine(({ tool_parser, reasoning_parser, options = {} }, context) => {
    const check = (key: string, value: string | undefined, known: readonly string[], plugin: string) => {
      if (value === undefined || known.includes(value) || options[plugin] !== undefined) return
      const message = `is not a parser of vLLM; set the option ${plugin} to the file that defines it, or use one of ${known.join(', ')}`
      context.addIssue({ code: 'custom', path: [key], message })
    }
    check('tool_parser', tool_parser, vllmToolParsers, 'tool-parser-plugin')
    check('reasoning_parser', reasoning_parser, vllmReasoningParsers, 'reasoning-parser-plugin')
  })

const llamaCppSchema = z.strictObject({
  minimum_build: z.int().positive().transform(String).optional(),
  projector: text
    .regex(/^\w[\w.-]*(\/\w[\w.-]*)*\.gguf$/, 'must be a .gguf file in the repository of the weights')
    .optional(),
  chat_template: text.optional(),
  options: optionsOf('llama_cpp'),
})

const xinferenceSchema = z.strictObject({
  model_name: text.optional(),
  separates_reasoning: z.boolean().optional(),
  options: optionsOf('xinference', /^[a-z][a-z0-9_]*$/),
})

export const enginesSchema = z.strictObject({
  vllm: vllmSchema.optional(),
  llama_cpp: llamaCppSchema.optional(),
  xinference: xinferenceSchema.optional(),
})

type EnginesEntry = z.output<typeof enginesSchema>

function mergeSections(model: EnginesEntry = {}, size: EnginesEntry = {}) {
  return {
    vllm: { ...model.vllm, ...size.vllm },
    llamaCpp: { ...model.llama_cpp, ...size.llama_cpp },
    xinference: { ...model.xinference, ...size.xinference },
  }
}

/** Merges the engines of a size into those of its model, field by field. */
export function toEngineProfiles(model?: EnginesEntry, size?: EnginesEntry): EngineProfiles {
  const { vllm, llamaCpp, xinference } = mergeSections(model, size)
  return {
    vllm: {
      minimumVersion: vllm.minimum_version,
      toolParser: vllm.tool_parser,
      reasoningParser: vllm.reasoning_parser,
      chatTemplate: vllm.chat_template,
      options: vllm.options,
    },
    llamaCpp: {
      minimumVersion: llamaCpp.minimum_build,
      projector: llamaCpp.projector,
      chatTemplate: llamaCpp.chat_template,
      options: llamaCpp.options,
    },
    xinference: {
      modelName: xinference.model_name,
      separatesReasoning: xinference.separates_reasoning,
      options: xinference.options,
    },
  }
}

interface ProfiledModel {
  tags: readonly string[]
  engines?: EnginesEntry | undefined
  sizes: readonly {
    engines?: EnginesEntry | undefined
    variants: readonly {
      format: string
      quantizations: readonly string[]
      weights:
        | { file: string }
        | { url: string }
        | { huggingface: string; revision: string | Readonly<Record<string, string>> }
    }[]
  }[]
}

/** Options of vLLM that take files from a repository whose commit Berth doesn't set. */
const unpinnedSources = ['tokenizer', 'hf-config-path', 'code-revision']

/** Variants whose repository runs code beside the GPU from a branch or tag, which its owner can change. */
function findUnpinnedCode(
  options: Readonly<Record<string, unknown>> = {},
  variants: ProfiledModel['sizes'][number]['variants'],
): Mistake[] {
  const trust = options['trust-remote-code']
  if (trust === undefined || trust === false || trust === 'false') return []
  return variants.flatMap(({ format, quantizations, weights }, index) => {
    if (!formats.vllm.includes(format) || !('huggingface' in weights)) return []
    const { revision } = weights
    const commits =
      typeof revision === 'string' ? [revision] : quantizations.map((each) => revision[each] ?? 'main')
    const messages = unpinnedSources
      .filter((option) => options[option] !== undefined)
      .map((option) => `trust-remote-code can't be combined with ${option}, whose files have no commit`)
    if (!commits.every(isCommit)) {
      messages.push('must have a commit as revision, because trust-remote-code runs code of the repository')
    }
    return messages.map((message) => ({ path: ['variants', index, 'weights'], message }))
  })
}

/** Sizes whose variants need something that the sections of their engines don't say. */
export function findProfileMistakes({ tags, engines, sizes }: ProfiledModel): Mistake[] {
  return sizes.flatMap((size, index) => {
    const { vllm, llamaCpp } = mergeSections(engines, size.engines)
    const isReasoning =
      tags.includes('reasoning') && size.variants.some(({ format }) => formats.vllm.includes(format))
    const hasFilesElsewhere = size.variants.some(
      ({ format, weights }) => formats.llama_cpp.includes(format) && !('huggingface' in weights),
    )
    const messages = [
      isReasoning &&
        vllm.reasoning_parser === undefined &&
        'must have engines.vllm.reasoning_parser, because the model has the tag reasoning',
      hasFilesElsewhere && llamaCpp.projector !== undefined && 'a projector requires weights on Hugging Face',
    ]
    const mistakes = messages.filter((message) => message !== false).map((message) => ({ path: [], message }))
    return [...mistakes, ...findUnpinnedCode(vllm.options, size.variants)].map(({ path, message }) => ({
      path: ['sizes', index, ...path],
      message,
    }))
  })
}
