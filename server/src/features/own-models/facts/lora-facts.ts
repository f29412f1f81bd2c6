/** The facts of a LoRA (low-rank adapter), from its configuration and its matrices' names and shapes. */

import { z } from 'zod'
import type { ConfigObject } from './config-object.ts'
import { readText } from './config-object.ts'

/** What the files of a LoRA say. */
export interface LoraContents {
  /** The repository of the base model as owner/name; null if the files name none */
  baseRepository: string | null
  rank: number
  targetModules: string[]
  /** The hidden size of the base model; null if no matrix shows it */
  hiddenSize: number | null
  /** Columns and rows of each matrix, by its name in the file */
  shapes: TensorShapes
}

/** Columns and rows of tensors, by name */
export type TensorShapes = ReadonlyMap<string, readonly [columns: number, rows: number]>

const maxTargets = 64
/** A matrix A in GGUF, and one as PEFT names it */
const matrixNames = [
  /(?:^|\.)([\w-]{1,100})\.weight\.lora_a$/,
  /(?:^|\.)([\w-]{1,100})\.lora_A(?:\.\w+)?\.weight$/,
]
/** Matrices whose input is the hidden state */
const hiddenInput = /^(attn_(q|k|v|qkv)|(q|k|v|qkv)_proj|query_key_value|c_attn)$/

/** Collects the facts that the matrices of a LoRA show. */
export class LoraMatrices {
  rank = 0
  hiddenSize: number | null = null
  readonly targets = new Set<string>()
  readonly #shapes = new Map<string, readonly [columns: number, rows: number]>()

  /** Notes a tensor. A matrix A maps `inputs` values to `rank` ones. */
  add(name: string, inputs: number, rank: number): void {
    this.#shapes.set(name, [inputs, rank])
    const target = matrixNames.map((pattern) => pattern.exec(name)?.[1]).find((each) => each !== undefined)
    if (target === undefined) return
    this.rank = Math.max(this.rank, rank)
    if (this.targets.size < maxTargets) this.targets.add(target)
    if (hiddenInput.test(target)) this.hiddenSize ??= inputs
  }

  toContents(baseRepository: string | null): LoraContents {
    const { rank, hiddenSize } = this
    const shapes = this.#shapes
    return { baseRepository, rank, targetModules: [...this.targets].toSorted(), hiddenSize, shapes }
  }
}

const isOff = z.union([z.null(), z.undefined(), z.literal(false), z.tuple([]), z.strictObject({})])
/** Features of PEFT that change what the matrices mean, and that no engine has */
const unsupported = [
  'use_dora',
  'lora_bias',
  'modules_to_save',
  'layer_replication',
  'alora_invocation_tokens',
  'use_bdlora',
  'use_qalora',
] as const

/** Why no engine applies the LoRA of an `adapter_config.json`, as a clause; null if one may. */
export function findLoraRefusal(config: ConfigObject): string | null {
  const type = readText(config['peft_type']).toUpperCase()
  if (type !== 'LORA')
    return `The adapter is no LoRA, but ${type === '' ? 'of an unnamed type' : type.slice(0, 40)}`
  const bias = config['bias']
  if (bias !== undefined && bias !== null && bias !== 'none') return 'LoRAs with biases are not supported'
  const used = unsupported.find((name) => !isOff.safeParse(config[name]).success)
  return used === undefined ? null : `LoRAs with ${used} are not supported`
}

/** The repository in a name or an address of one; null for anything else, such as a folder. */
export function toBaseRepository(value: unknown): string | null {
  const name = readText(value).replace(/^https:\/\/huggingface\.co\//, '')
  return /^[\w.-]{1,96}\/[\w.-]{1,96}$/.test(name) && !name.includes('..') ? name : null
}
