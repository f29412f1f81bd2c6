import { readGgufFileInfo } from 'node-llama-cpp'
import type { GgufTensor } from '../../../bench/engine/gguf.ts'
import {
  constantVector,
  flag,
  integers,
  number,
  string,
  strings,
  writeGguf,
} from '../../../bench/engine/gguf.ts'
import { tinyModel } from './engine.ts'

/** A model that writes one text, whatever it is asked. */
export interface ScriptedModel {
  path: string
  template: string | null
  /** What the model writes, in pieces; each piece becomes a token */
  answer: readonly string[]
  /** Texts that are tokens of control */
  control: readonly string[]
}

const width = 256
/** The first token of each answer follows this text, which must end the prompt */
const strength = 4
const end = '<|scripted_end|>'
const begin = '<|scripted_begin|>'

/**
 * Writes a model of one layer without effect. Its output matrix says which token follows which: any token is
 * followed by the first piece of the answer, each piece by the next one, and the last by the end of the turn.
 */
export async function writeScriptedModel({ path, template, answer, control }: ScriptedModel): Promise<void> {
  const { metadata } = await readGgufFileInfo(tinyModel, { sourceType: 'filesystem' })
  const { ggml } = metadata.tokenizer
  const special = new Set([...control, begin, end])
  const pieces = answer.filter((piece) => !special.has(piece)).map(toLetters)
  const base = ggml.tokens.filter(
    (token) => !special.has(token) && !pieces.includes(token) && !/^<\|.*\|>$/.test(token),
  )
  const tokens = [...base, ...new Set(pieces), ...special]
  const ids = new Map(tokens.map((token, id) => [token, id]))
  const chain = answer.map((piece) => ids.get(special.has(piece) ? piece : toLetters(piece))!)
  if (new Set(chain).size < chain.length) throw new Error('Each piece of a scripted answer must be unique.')
  if (chain.length > width - 2) throw new Error('A scripted answer has too many pieces.')

  const embeddings = new Float32Array(tokens.length * width)
  const output = new Float32Array(tokens.length * width)
  for (let token = 0; token < tokens.length; token++) embeddings[token * width] = 1
  output[(chain[0] ?? ids.get(end)!) * width] = strength
  for (const [index, token] of chain.entries()) {
    embeddings[token * width] = 0
    embeddings[token * width + index + 1] = 1
    output[(chain[index + 1] ?? ids.get(end)!) * width + index + 1] = strength
  }

  const types = tokens.map((token) => (special.has(token) ? 3 : 1))
  await writeGguf(
    path,
    [
      ['general.architecture', string('llama')],
      ['general.name', string('Scripted')],
      ['llama.block_count', number('uint32', 1)],
      ['llama.context_length', number('uint32', 4096)],
      ['llama.embedding_length', number('uint32', width)],
      ['llama.feed_forward_length', number('uint32', 64)],
      ['llama.attention.head_count', number('uint32', 4)],
      ['llama.attention.head_count_kv', number('uint32', 4)],
      ['llama.attention.layer_norm_rms_epsilon', number('float32', 1e-6)],
      ['llama.rope.freq_base', number('float32', 10_000)],
      ['llama.rope.dimension_count', number('uint32', 64)],
      ['tokenizer.ggml.model', string('gpt2')],
      ['tokenizer.ggml.pre', string('gpt-2')],
      ['tokenizer.ggml.tokens', strings(tokens)],
      ['tokenizer.ggml.token_type', integers(types)],
      ['tokenizer.ggml.merges', strings(ggml.merges ?? [])],
      ['tokenizer.ggml.bos_token_id', number('uint32', ids.get(begin)!)],
      ['tokenizer.ggml.eos_token_id', number('uint32', ids.get(end)!)],
      ['tokenizer.ggml.add_bos_token', flag(false)],
      ...(template === null ? [] : [['tokenizer.chat_template', string(template)] as const]),
    ],
    [
      matrix('token_embd.weight', tokens.length, embeddings),
      constantVector('output_norm.weight', width, 1),
      matrix('output.weight', tokens.length, output),
      constantVector('blk.0.attn_norm.weight', width, 1),
      constantVector('blk.0.ffn_norm.weight', width, 1),
      ...['q', 'k', 'v', 'output'].map((name) => zeros(`blk.0.attn_${name}.weight`, width, width)),
      zeros('blk.0.ffn_gate.weight', width, 64),
      zeros('blk.0.ffn_up.weight', width, 64),
      zeros('blk.0.ffn_down.weight', 64, width),
    ],
  )
}

/** Cuts a text at the texts of tokens of control; a text with equal pieces is one piece. */
export function cutIntoPieces(text: string, control: readonly string[]): string[] {
  const once = control.filter((mark) => text.split(mark).length === 2)
  if (once.length === 0) return [text]
  const pattern = once.map((mark) => mark.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|')
  const pieces = text.split(new RegExp(`(${pattern})`)).filter((piece) => piece !== '')
  return new Set(pieces).size === pieces.length ? pieces : [text]
}

function matrix(name: string, rows: number, values: Float32Array): GgufTensor {
  return {
    name,
    shape: [width, rows],
    type: 'f32',
    bytes: values.byteLength,
    write: () => Buffer.from(values.buffer),
  }
}

function zeros(name: string, columns: number, rows: number): GgufTensor {
  const values = new Float32Array(columns * rows)
  return {
    name,
    shape: [columns, rows],
    type: 'f32',
    bytes: values.byteLength,
    write: () => Buffer.from(values.buffer),
  }
}

/** GPT-2's letters for bytes: printable ones stand for themselves, the others follow U+0100. */
const letters = (() => {
  let next = 256
  return Array.from({ length: 256 }, (_, byte) => {
    const isPrintable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174
    return String.fromCodePoint(isPrintable ? byte : next++)
  })
})()

const toLetters = (text: string): string => [...Buffer.from(text)].map((byte) => letters[byte]!).join('')
