/** Whether the matrices of a LoRA fit the tensors of a model, by their names and shapes. */

import type { TensorShapes } from './lora-facts.ts'

/** Columns and rows of a model's tensors, by name; null for tensors that hold packed values */
export type BaseShapes = ReadonlyMap<string, TensorShape | null>
type TensorShape = readonly [columns: number, rows: number]

/** The two matrices of a LoRA that change a tensor. */
interface Pair {
  target: string
  a: TensorShape
  b: TensorShape
}

const ofGguf = /\.lora_a$/
/** llama.cpp keeps the matrices of the token embeddings the other way around. */
const embeddings = 'token_embd.weight'

/** True if llama.cpp's converter has named the matrices, otherwise false. */
export function isGgufLora(lora: TensorShapes): boolean {
  return [...lora.keys()].some((name) => ofGguf.test(name))
}

/** Why a LoRA doesn't fit a model of its kind with these tensors, as a clause; null if it does. */
export function findMisfit(lora: TensorShapes, tensors: BaseShapes): string | null {
  return isGgufLora(lora) ? findGgufMisfit(lora, tensors) : findPeftMisfit(lora, tensors)
}

function findGgufMisfit(lora: TensorShapes, tensors: BaseShapes): string | null {
  for (const [name, a] of lora) {
    if (!ofGguf.test(name)) continue
    const target = name.replace(ofGguf, '')
    const b = lora.get(`${target}.lora_b`)
    if (b === undefined) return `the file has no ${target}.lora_b`
    const tensor = tensors.get(target)
    if (tensor === undefined) return `the model has no ${target}`
    const isTurned = target === embeddings
    const pair = { target, a: isTurned ? b : a, b: isTurned ? a : b }
    const misfit =
      (isTurned ? null : compareRanks(pair)) ?? compareShapes(pair, tensor === null ? [] : [tensor])
    if (misfit !== null) return misfit
  }
  return null
}

const ofPeft = /^(?:base_model\.model\.)?(.+)\.lora_A((?:\.\w+)?\.weight)$/
/** Engines join the experts of a layer under other names. */
const experts = /\.experts(\.|$)/
/** From the list of layers on, because libraries name what holds it differently */
const inLayer = /(?:^|\.)((?:layers?|h|blocks?)\.\d+\..+)$/
/** Modules of GPT-2, whose matrices are stored the other way around */
const turnedModules = /\.(?:c_attn|c_proj|c_fc)$/

function findPeftMisfit(lora: TensorShapes, tensors: BaseShapes): string | null {
  const modules = groupByModule(tensors)
  for (const [name, a] of lora) {
    const [whole, module, ending] = ofPeft.exec(name) ?? []
    if (whole === undefined || module === undefined) continue
    const b = lora.get(whole.replace(`.lora_A${ending}`, `.lora_B${ending}`))
    if (b === undefined) return `the file has no lora_B of ${module}`
    const pair = { target: module, a, b }
    const misfit = compareRanks(pair)
    if (misfit !== null) return misfit
    if (experts.test(module)) continue
    const path = inLayer.exec(module)?.[1]
    const shapes = modules.get(path ?? module.split('.').at(-1)!)
    // Outside of the layers, tensors may be shared under another name.
    if (shapes === undefined && path === undefined) continue
    if (shapes === undefined) return `the model has no ${path}`
    const turned = turnedModules.test(module) ? shapes.map(([columns, rows]) => [rows, columns] as const) : []
    const difference = compareShapes(pair, [...shapes, ...turned])
    if (difference !== null) return difference
  }
  return null
}

/** The shapes of the matrices of modules by path, of all that have the path; none for packed ones. */
function groupByModule(tensors: BaseShapes): Map<string, TensorShape[]> {
  const modules = new Map<string, TensorShape[]>()
  for (const [name, shape] of tensors) {
    const [, module = '', kind] = /^(.+?)(?:\.(\w+))?$/s.exec(name) ?? []
    const path = inLayer.exec(module)?.[1] ?? module.split('.').at(-1)!
    const shapes = modules.get(path) ?? []
    if (kind === 'weight' && shape !== null) shapes.push(shape)
    modules.set(path, shapes)
  }
  return modules
}

function compareRanks({ target, a, b }: Pair): string | null {
  return a[1] === b[0] ? null : `the matrices of ${target} have different ranks`
}

/** `possible` are the tensor's shapes where several have its name; none if they are unknown. */
function compareShapes({ target, a, b }: Pair, possible: readonly TensorShape[]): string | null {
  const [columns, rows] = [a[0], b[1]]
  const [first] = possible
  if (first === undefined || possible.some((shape) => shape[0] === columns && shape[1] === rows)) return null
  return `it changes ${target} as a matrix of ${columns} × ${rows}, but the model’s is ${first[0]} × ${first[1]}`
}
