import type { EngineSpec, PlannedEngine } from '../../../ports/model-runtime.ts'
import type { EngineOptions } from '../../../ports/model-variant.ts'
import type { OptionRule } from '../../../ports/runtime-engine.ts'
import type { OptionValue } from './to-arguments.ts'

type OptionRules = Readonly<Record<string, OptionRule>>

const toggle = { takes: 'switch' } as const
const flag = { takes: 'flag' } as const
const name = { takes: 'name' } as const
const integer = (from: number, to: number) => ({ takes: 'integer', from, to }) as const
const number = (from: number, to: number) => ({ takes: 'number', from, to }) as const
const words = (...list: string[]) => ({ takes: 'words', words: list }) as const
const json = (...keys: string[]) => ({ takes: 'json', keys: keys.length === 0 ? null : keys }) as const

/**
 * The options of vLLM that a deployment may set. Its admins don't operate the server, so this is a list of
 * what is safe: most releases add options that load code, read files or open ports, each with abbreviations.
 */
export const vllmOptions: OptionRules = {
  'async-scheduling': toggle,
  'attention-backend': name,
  'block-size': integer(1, 1024),
  'calculate-kv-scales': toggle,
  'chat-template-content-format': words('auto', 'openai', 'string'),
  'default-chat-template-kwargs': json(),
  'disable-cascade-attn': toggle,
  'disable-custom-all-reduce': toggle,
  'disable-hybrid-kv-cache-manager': toggle,
  dtype: words('auto', 'bfloat16', 'float16', 'half'),
  'enable-auto-tool-choice': toggle,
  'enable-chunked-prefill': toggle,
  'enable-expert-parallel': toggle,
  'enable-prefix-caching': toggle,
  'enforce-eager': toggle,
  'generation-config': words('auto', 'vllm'),
  'kv-cache-dtype': name,
  'kv-sharing-fast-prefill': toggle,
  'limit-mm-per-prompt': json(),
  'logprobs-mode': name,
  'long-prefill-token-threshold': integer(0, 16_777_216),
  'mamba-cache-dtype': name,
  'mamba-ssm-cache-dtype': name,
  'max-cudagraph-capture-size': integer(1, 8192),
  'max-logprobs': integer(0, 100),
  'max-long-partial-prefills': integer(1, 4096),
  'max-num-batched-tokens': integer(1, 1_048_576),
  'max-num-partial-prefills': integer(1, 4096),
  'optimization-level': integer(0, 3),
  'override-generation-config': json(
    'frequency_penalty',
    'max_new_tokens',
    'min_p',
    'presence_penalty',
    'repetition_penalty',
    'temperature',
    'top_k',
    'top_p',
  ),
  quantization: name,
  'reasoning-parser': name,
  'safetensors-load-strategy': words('eager', 'lazy', 'prefetch'),
  seed: integer(0, 4_294_967_295),
  // Without `model`, which is a path or a repository
  'speculative-config': json(
    'disable_by_batch_size',
    'method',
    'num_speculative_tokens',
    'prompt_lookup_max',
    'prompt_lookup_min',
  ),
  'stream-interval': integer(1, 1000),
  'tool-call-parser': name,
}

const cacheTypes = words('f16', 'bf16', 'q8_0', 'q5_1', 'q5_0', 'q4_1', 'q4_0', 'iq4_nl')

/** The options of llama-server that a deployment may set. Some of the others read and write files. */
export const llamaCppOptions: OptionRules = {
  'batch-size': integer(1, 65_536),
  'cache-reuse': integer(0, 1_048_576),
  'cache-type-k': cacheTypes,
  'cache-type-v': cacheTypes,
  'chat-template-kwargs': json(),
  'cont-batching': toggle,
  'context-shift': toggle,
  'draft-max': integer(0, 1024),
  'draft-min': integer(0, 1024),
  'draft-p-min': number(0, 1),
  'flash-attn': words('auto', 'off', 'on'),
  'frequency-penalty': number(-10, 10),
  'image-max-tokens': integer(1, 65_536),
  'image-min-tokens': integer(1, 65_536),
  'kv-unified': flag,
  'min-p': number(0, 1),
  'no-mmap': flag,
  'no-warmup': flag,
  'presence-penalty': number(-10, 10),
  'reasoning-budget': integer(-1, 16_777_216),
  'repeat-penalty': number(0, 10),
  'rope-freq-base': number(0, 1e9),
  'rope-freq-scale': number(0, 1000),
  'rope-scale': number(0, 1000),
  'rope-scaling': words('linear', 'none', 'yarn'),
  seed: integer(-1, 4_294_967_295),
  'slot-prompt-similarity': number(0, 1),
  'spec-type': name,
  'split-mode': words('layer', 'none', 'row'),
  temp: number(0, 10),
  'top-k': integer(0, 1_000_000),
  'top-p': number(0, 1),
  'ubatch-size': integer(1, 65_536),
  'yarn-attn-factor': number(-1, 1000),
  'yarn-beta-fast': number(-1, 1000),
  'yarn-beta-slow': number(-1, 1000),
  'yarn-ext-factor': number(-1, 1000),
  'yarn-orig-ctx': integer(0, 16_777_216),
}

/** The options of a deployment for `toArguments`, without those that the engine doesn't offer anymore. */
export function toEngineOptions(
  rules: OptionRules,
  options: EngineOptions = {},
): Record<string, OptionValue> {
  return Object.fromEntries(
    Object.entries(options)
      .filter(([option]) => Object.hasOwn(rules, option))
      .map(([option, value]) =>
        value === false && rules[option]!.takes === 'switch' ? [`no-${option}`, true] : [option, value],
      ),
  )
}

/** The spec of a planned engine, with the model's name in place of what only a deployment has. */
export function toExampleSpec(engine: PlannedEngine): EngineSpec {
  const { modelName } = engine.variant
  return {
    ...engine,
    engineId: '',
    deploymentId: '',
    modelUid: modelName,
    servedModelName: modelName,
    apiKey: '',
    clusterId: null,
  }
}

/** Options that name files, addresses and secrets, each with its value */
const hidden =
  /^--(host|port|model|model-url|hf-repo|hf-file|mmproj|mmproj-url|lora|chat-template|master-addr)$/
const secret = /^--(.*-)?(token|key|password|secret)$/

/** A command line for people, without files, addresses and secrets. */
export function toShownCommand(program: readonly string[], args: readonly string[]): string[] {
  const isShown = (_: string, index: number) =>
    ![args[index], args[index - 1]].some(
      (each) => each !== undefined && (hidden.test(each) || secret.test(each)),
    )
  return [...program, ...args.filter(isShown)]
}
