import type { HubRepository } from './hub-server.ts'
import { makeGguf, makeGgufAdapter, makeSafetensors } from './model-files.ts'
import { commitOf, makeRepositories } from './test-repositories.ts'

const json = (value: unknown) => Buffer.from(JSON.stringify(value))

interface PeftAdapter {
  base: string
  rank: number
  hiddenSize: number
  layers?: number
  /** Gives it random weights; zeros without one */
  seed?: number
  config?: Record<string, unknown>
}

/** The files of an adapter of the queries of a model, as PEFT writes them. */
export function makePeftAdapter(adapter: PeftAdapter): Record<string, Buffer> {
  const { base, rank, hiddenSize, layers = 1, seed, config } = adapter
  const matrices = Array.from({ length: layers }, (_, layer) => {
    const at = `base_model.model.model.layers.${layer}.self_attn.q_proj`
    return {
      [`${at}.lora_A.weight`]: ['F32', [rank, hiddenSize]] as [string, number[]],
      [`${at}.lora_B.weight`]: ['F32', [hiddenSize, rank]] as [string, number[]],
    }
  })
  return {
    'adapter_config.json': json({
      peft_type: 'LORA',
      r: rank,
      lora_alpha: 2 * rank,
      bias: 'none',
      use_dora: false,
      modules_to_save: null,
      target_modules: ['q_proj'],
      base_model_name_or_path: base,
      ...config,
    }),
    'adapter_model.safetensors': makeSafetensors(Object.assign({}, ...matrices), seed),
  }
}

const small = { base: 'acme/Small', rank: 16, hiddenSize: 1024 }

/** Adapters, next to models that they change. */
export function makeAdapterRepositories(): Record<string, HubRepository> {
  const { 'acme/Small': model, 'acme/Small-GGUF': copy } = makeRepositories()
  const { 'adapter_config.json': config } = makePeftAdapter(small)
  const repository = (files: HubRepository['files']): HubRepository => ({ commit: commitOf('a'), files })
  return {
    'acme/Small': {
      ...model!,
      files: {
        ...model!.files,
        'model.safetensors': makeSafetensors({
          'model.embed_tokens.weight': ['BF16', [1000, 64]],
          'model.layers.0.self_attn.q_proj.weight': ['BF16', [1024, 1024]],
        }),
      },
    },
    'other/Small-GGUF': copy!,
    'acme/Small-LoRA': repository(makePeftAdapter(small)),
    'acme/Tiny-LoRA': repository(makePeftAdapter({ base: 'acme/Tiny', rank: 8, hiddenSize: 128 })),
    'acme/Tiny-LoRA-GGUF': repository({
      'tiny-lora-F32.gguf': makeGgufAdapter(
        { layers: 5, hiddenSize: 128 },
        1,
        'https://huggingface.co/acme/Tiny',
      ),
    }),
    'acme/Other-Tiny-LoRA-GGUF': repository({
      'other-lora-F32.gguf': makeGgufAdapter({ layers: 5, hiddenSize: 128 }, 2),
    }),
    'acme/Large-LoRA': repository(makePeftAdapter({ ...small, rank: 1024 })),
    'acme/DoRA': repository(makePeftAdapter({ ...small, config: { use_dora: true } })),
    'acme/Prompt-Tuning': repository(makePeftAdapter({ ...small, config: { peft_type: 'PROMPT_TUNING' } })),
    'acme/Pickled-LoRA': repository({ 'adapter_config.json': config!, 'adapter_model.bin': 1000 }),
    'acme/Empty-LoRA': repository({
      'empty-F32.gguf': makeGguf({ 'general.architecture': 'llama', 'general.type': 'adapter' }),
    }),
  }
}
