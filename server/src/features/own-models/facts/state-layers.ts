/** Layers with a state of fixed size instead of attention: linear attention, Mamba and convolutions. */

import { z } from 'zod'
import { readText } from './config-object.ts'
import type { ConfigObject } from './config-object.ts'

export interface StateLayers {
  /** How many layers have no key-value cache */
  layers: number
  /** Bytes of state per sequence in all of them */
  bytes: number
}

const none: StateLayers = { layers: 0, bytes: 0 }
const size = z.int().positive().max(10_000_000)

/** vLLM and llama.cpp keep recurrent states in 32 bits and the inputs of convolutions in 16. */
const stateValueBytes = 4
const convolutionValueBytes = 2

/** Reads the layers without attention; null if the configuration has some of an unknown kind. */
export function readStateLayers(config: ConfigObject, layers: number): StateLayers | null {
  const { layer_types: types, hybrid_override_pattern: pattern, layers_block_type: blocks } = config
  if (typeof pattern === 'string') {
    // M is Mamba, * attention and - or E a network, which keeps nothing.
    const mamba = countLetters(pattern, 'M')
    const bytes = mamba2Bytes(config)
    return bytes === null ? null : { layers: layers - countLetters(pattern, '*'), bytes: mamba * bytes }
  }
  const kinds = Array.isArray(types) ? types : Array.isArray(blocks) ? blocks : null
  if (kinds !== null) return addUp(config, kinds.slice(0, layers))
  const interval = size.safeParse(config['full_attention_interval'])
  const linear = linearAttentionBytes(config)
  if (interval.success && linear !== null) {
    const count = layers - Math.floor(layers / interval.data)
    return { layers: count, bytes: count * linear }
  }
  const period = size.safeParse(config['attn_layer_period'])
  if (period.success) return readPeriodic(config, layers, period.data)
  const isRecurrent = /mamba|rwkv|xlstm|retnet|recurrent|falcon_h1/.test(readText(config['model_type']))
  return isRecurrent ? null : none
}

function addUp(config: ConfigObject, kinds: readonly unknown[]): StateLayers | null {
  let layers = 0
  let bytes = 0
  for (const kind of kinds) {
    if (typeof kind !== 'string' || (kind.endsWith('attention') && kind !== 'linear_attention')) continue
    const read = readers.get(kind)?.(config) ?? null
    if (read === null) return null
    layers++
    bytes += read
  }
  return { layers, bytes }
}

const readers: ReadonlyMap<string, (config: ConfigObject) => number | null> = new Map([
  ['linear_attention', linearAttentionBytes],
  ['mamba', mamba2Bytes],
  ['mamba2', mamba2Bytes],
  ['conv', shortConvolutionBytes],
])

/** Gated delta networks, as in Qwen3-Next. */
function linearAttentionBytes(config: ConfigObject): number | null {
  const facts = z
    .object({
      linear_num_key_heads: size,
      linear_num_value_heads: size,
      linear_key_head_dim: size,
      linear_value_head_dim: size,
      linear_conv_kernel_dim: size,
    })
    .safeParse(config)
  if (!facts.success) return null
  const {
    linear_num_key_heads: keyHeads,
    linear_num_value_heads: valueHeads,
    linear_key_head_dim: keyDimension,
    linear_value_head_dim: valueDimension,
    linear_conv_kernel_dim: kernel,
  } = facts.data
  const channels = 2 * keyHeads * keyDimension + valueHeads * valueDimension
  return (
    valueHeads * keyDimension * valueDimension * stateValueBytes +
    (kernel - 1) * channels * convolutionValueBytes
  )
}

/** Mamba 2 under the names of Nemotron-H and of Granite and Bamba. */
function mamba2Bytes(config: ConfigObject): number | null {
  const facts = z
    .object({ heads: size, dimension: size, groups: size, state: size, kernel: size })
    .safeParse({
      heads: config['mamba_num_heads'] ?? config['mamba_n_heads'],
      dimension: config['mamba_head_dim'] ?? config['mamba_d_head'],
      groups: config['n_groups'] ?? config['mamba_n_groups'],
      state: config['ssm_state_size'] ?? config['mamba_d_state'],
      kernel: config['conv_kernel'] ?? config['mamba_d_conv'],
    })
  if (!facts.success) return null
  const { heads, dimension, groups, state, kernel } = facts.data
  const channels = heads * dimension + 2 * groups * state
  return heads * dimension * state * stateValueBytes + (kernel - 1) * channels * convolutionValueBytes
}

/** Short convolutions, as in LFM2. */
function shortConvolutionBytes(config: ConfigObject): number | null {
  const facts = z.object({ hidden_size: size, conv_L_cache: size }).safeParse(config)
  return facts.success ? facts.data.hidden_size * facts.data.conv_L_cache * convolutionValueBytes : null
}

/** Mamba 1 with attention in every n-th layer, as in Jamba. */
function readPeriodic(config: ConfigObject, layers: number, period: number): StateLayers | null {
  const facts = z
    .object({ hidden_size: size, mamba_expand: size, mamba_d_state: size, mamba_d_conv: size })
    .safeParse(config)
  if (!facts.success) return null
  const { hidden_size: hidden, mamba_expand: expand, mamba_d_state: state, mamba_d_conv: kernel } = facts.data
  const count = layers - Math.floor(layers / period)
  const inner = hidden * expand
  const bytes = inner * state * stateValueBytes + (kernel - 1) * inner * convolutionValueBytes
  return { layers: count, bytes: count * bytes }
}

function countLetters(text: string, letter: string): number {
  return text.split(letter).length - 1
}
