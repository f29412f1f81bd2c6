import { ApplicationError } from '../../../base/errors.ts'
import { sourceOf } from './json-source.ts'
import type { JsonObject } from './protocol.ts'

// Reads a translated request's fields. Each function throws the caller's 400, which names the field.

/** The 400 for the field at `path`. */
export function refuseField(path: string, reason: string): ApplicationError {
  const param = path.slice(0, 200)
  return new ApplicationError('invalid_request_error', `\`${param}\` ${reason}`, { facts: { param } })
}

/** An object. */
export function readObject(value: unknown, path: string): JsonObject {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject
  throw refuseField(path, 'must be an object.')
}

/** An object that only the engine reads, or its source. */
export function readSource(value: unknown, path: string): unknown {
  if (value !== undefined && sourceOf(value).startsWith('{')) return value
  throw refuseField(path, 'must be an object.')
}

/** A list of at most 10,000 items; empty if missing or null. `kinds`: what else the field may be. */
export function readList(value: unknown, path: string, kinds = 'a list'): readonly unknown[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) throw refuseField(path, `must be ${kinds}.`)
  if (value.length > maxItems) throw refuseField(path, `must have at most ${maxItems} items.`)
  return value
}

const maxItems = 10_000

/** A text. */
export function readText(value: unknown, path: string): string {
  if (typeof value === 'string') return value
  throw refuseField(path, 'must be a text.')
}

/** A text; undefined if it is missing or null. */
export function readOptionalText(value: unknown, path: string): string | undefined {
  return value === undefined || value === null ? undefined : readText(value, path)
}

/** A whole number above 0; undefined if it is missing or null. */
export function readOptionalCount(value: unknown, path: string): number | undefined {
  if (value === undefined || value === null) return undefined
  if (Number.isInteger(value) && Number(value) >= 1) return Number(value)
  throw refuseField(path, 'must be a whole number above 0.')
}

/** The `type` of a part, for a message that it is not supported. */
export function refuseType(type: unknown, path: string): ApplicationError {
  const shown = typeof type === 'string' ? `"${type.slice(0, 64)}"` : 'missing'
  return refuseField(`${path}.type`, `is ${shown}, which is not supported here.`)
}

/** Names the type of a part in a sentence. */
export function nameType(type: unknown): string {
  return typeof type === 'string' ? `a part of the type "${type.slice(0, 64)}"` : 'a part without a type'
}

/** The members with these names that the request has, null not counted. */
export function pickFields(request: JsonObject, names: readonly string[]): JsonObject {
  const present = names.filter((name) => request[name] !== undefined && request[name] !== null)
  return Object.fromEntries(present.map((name) => [name, request[name]]))
}

/** Chat members of engines besides the route's. Engines refuse one that they can't honor if it matters. */
export const engineFields = [
  'top_k',
  'min_p',
  'seed',
  'presence_penalty',
  'frequency_penalty',
  'repetition_penalty',
  'logit_bias',
  'modalities',
  'audio',
  'guided_json',
  'guided_regex',
  'guided_choice',
  'guided_grammar',
  'structured_outputs',
  'ignore_eos',
  'min_tokens',
  'chat_template_kwargs',
  'priority',
  'cache_salt',
  'id_slot',
] as const
