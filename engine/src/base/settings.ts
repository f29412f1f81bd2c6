import { parseArgs } from 'node:util'

const modelTypes = ['chat', 'embedding', 'rerank'] as const
/** What a model does; only a chat model generates text. */
export type ModelType = (typeof modelTypes)[number]

/** The names of a model, at least one */
export type Names = readonly [string, ...string[]]

/** The command line of an engine process. */
export interface Settings {
  /** The deployment's folder with launch.json and engine.json */
  stateDirectory: string
  /** Identifies this launch. The engine exits when launch.json names another nonce. */
  nonce: string
  /** Path of the GGUF file */
  modelPath: string
  /** The model names that requests may use; answers have the first */
  aliases: Names
  type: ModelType
  /** Tokens per request, prompt and answer together */
  contextTokens: number
  /** Sequences that generate at the same time */
  parallel: number
  /** Layers offloaded to the GPU; 0 uses the CPU alone */
  gpuLayers: 'auto' | number
  /** True if the engine must fail where it can't use a GPU */
  requiresGpu: boolean
  /** Host memory for the states of conversations that have no sequence at the moment; 0 keeps none */
  stateCacheBytes: number
  /** Whether these states may use more memory while the host has plenty */
  stateCacheGrows: boolean
}

/** The settings, or one message per mistake. */
export type ParsedSettings =
  | { ok: true; settings: Settings; key: string }
  | { ok: false; mistakes: readonly string[] }

const defaultStateCacheMib = 128

const flags = [
  'state-dir',
  'nonce',
  'model',
  'alias',
  'type',
  'context',
  'parallel',
  'gpu-layers',
  'device',
  'state-cache-mib',
  'state-cache-grows',
] as const

type Flag = (typeof flags)[number]
type FlagValues = Partial<Record<Flag, string>>

/** Parses the command line and the API key. Never throws and never repeats the key in a message. */
export function parseSettings(args: readonly string[], key: string | undefined): ParsedSettings {
  let values: FlagValues
  try {
    const options = Object.fromEntries(flags.map((flag) => [flag, { type: 'string' as const }]))
    values = parseArgs({ args: [...args], options, allowPositionals: false }).values
  } catch (error) {
    return { ok: false, mistakes: [error instanceof Error ? error.message : String(error)] }
  }

  const mistakes: string[] = []
  const { text, integer } = createFlagReader(values, mistakes)
  const settings: Settings = {
    stateDirectory: text('state-dir', /./, 'a folder'),
    nonce: text('nonce', /^[0-9a-f]{8,128}$/, '8 to 128 lowercase hexadecimal digits'),
    modelPath: text('model', /./, 'the path of a GGUF file'),
    aliases: text(
      'alias',
      /^[^\s\p{Cc},]+(,[^\s\p{Cc},]+)*$/u,
      'the names of the model without spaces, separated by commas',
    ).split(',') as [string, ...string[]],
    type: text('type', /^(chat|embedding|rerank)$/, '"chat", "embedding" or "rerank"') as ModelType,
    contextTokens: integer('context', 128, 2_000_000),
    parallel: integer('parallel', 1, 64),
    gpuLayers:
      values['gpu-layers'] === undefined || values['gpu-layers'] === 'auto'
        ? 'auto'
        : integer('gpu-layers', 0, 10_000),
    requiresGpu: values.device !== undefined && text('device', /^(any|gpu)$/, '"any" or "gpu"') === 'gpu',
    stateCacheBytes:
      (values['state-cache-mib'] === undefined
        ? defaultStateCacheMib
        : integer('state-cache-mib', 0, 1_000_000)) *
      2 ** 20,
    stateCacheGrows:
      values['state-cache-grows'] !== undefined &&
      text('state-cache-grows', /^(yes|no)$/, '"yes" or "no"') === 'yes',
  }
  if (key === undefined || !/^[\x21-\x7e]{16,512}$/.test(key)) {
    mistakes.push(
      'BERTH_ENGINE_KEY must hold the API key: 16 to 512 printable ASCII characters without spaces.',
    )
  }
  return mistakes.length > 0 || key === undefined ? { ok: false, mistakes } : { ok: true, settings, key }
}

/** Reads flags as texts and integers, and adds a message to the mistakes for each missing or invalid one. */
function createFlagReader(values: FlagValues, mistakes: string[]) {
  const text = (flag: Flag, pattern: RegExp, expected: string): string => {
    const value = values[flag]
    if (value === undefined) mistakes.push(`--${flag} is required: ${expected}.`)
    else if (!pattern.test(value)) mistakes.push(`--${flag} must be ${expected}, not "${value}".`)
    return value ?? ''
  }
  const integer = (flag: Flag, least: number, most: number): number => {
    const value = Number(text(flag, /^\d{1,9}$/, `an integer from ${least} to ${most}`))
    if (values[flag] !== undefined && Number.isInteger(value) && (value < least || value > most)) {
      mistakes.push(`--${flag} must be an integer from ${least} to ${most}, not ${value}.`)
    }
    return value
  }
  return { text, integer }
}
