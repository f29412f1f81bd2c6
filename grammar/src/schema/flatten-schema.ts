import { isSchema } from './json-schema.ts'
import type { Refuse, Schema } from './json-schema.ts'
import type { Spend } from '../work-budget.ts'
import { checkKeywords, constraintsOf } from './keywords.ts'
import { mergeSchemas } from './merge-schemas.ts'

const maxMerges = 100

/** The whole schema, in which references are resolved. */
export interface SchemaSource {
  root: unknown
  refuse: Refuse
  spend: Spend
  /** What is known already: combinations of references would otherwise grow exponentially. */
  flattened: Map<Schema, FlatSchema>
}

/** A schema without `$ref` and `allOf`, or the target of a schema that is a lone reference. */
export type FlatSchema = { schema: Schema } | { target: unknown; reference: string }

/** Checks a schema and merges `allOf` and the neighbors of `$ref` into it. */
export function flattenSchema(source: SchemaSource, schema: Schema, path: string, depth = 0): FlatSchema {
  const known = source.flattened.get(schema)
  if (known !== undefined) return known
  const flat = flatten(source, schema, path, depth)
  source.flattened.set(schema, flat)
  return flat
}

function flatten(source: SchemaSource, schema: Schema, path: string, depth: number): FlatSchema {
  const { root, refuse, spend } = source
  if (depth > maxMerges) return refuse(path, 'it combines schemas recursively')
  for (const [keyword, value] of Object.entries(schema)) spend(10 + sizeOf(value), path, keyword.slice(0, 64))
  checkMerged(schema, path, refuse)
  const { $ref: reference, allOf, ...rest } = constraintsOf(schema)
  let merged: Schema = rest
  if (typeof reference === 'string') {
    const target = resolvePointer(root, reference)
    if (target === undefined)
      refuse(path, `"$ref" must be a JSON pointer within the schema, such as "#/$defs/name"`)
    if (Object.keys(rest).length === 0 && allOf === undefined) return { target, reference }
    merged = mergePart(source, merged, target, path, depth)
  }
  for (const part of (allOf as unknown[] | undefined) ?? []) {
    merged = mergePart(source, merged, part, path, depth)
  }
  return { schema: merged }
}

function mergePart(source: SchemaSource, into: Schema, part: unknown, path: string, depth: number): Schema {
  const { refuse, spend } = source
  if (part === true) return into
  if (!isSchema(part)) return refuse(path, 'a combined schema must be an object')
  let flat = flattenSchema(source, part, path, depth + 1)
  for (let jump = 0; 'reference' in flat; jump++) {
    if (flat.target === true) return into
    if (!isSchema(flat.target) || jump > maxMerges) return refuse(path, '"$ref" must refer to a schema')
    flat = flattenSchema(source, flat.target, flat.reference, depth + 1)
  }
  return mergeSchemas(into, flat.schema, { path, refuse, spend })
}

/** About the steps to look at each item of a value, but not into the items. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length / 8
  if (Array.isArray(value)) return value.length * 2
  return isSchema(value) ? Object.keys(value).length * 4 : 1
}

/** Merged schemas hold lists of patterns and formats, which are checked where they come from. */
function checkMerged(schema: Schema, path: string, refuse: Refuse): void {
  const { pattern, format, ...rest } = schema
  checkKeywords(rest, path, refuse)
  for (const [keyword, value] of Object.entries({ pattern, format })) {
    for (const entry of [value ?? []].flat()) checkKeywords({ [keyword]: entry }, path, refuse)
  }
}

/** Flattens a schema and follows its references. Without a target, the schema has no constraints. */
export function followReferences(source: SchemaSource, schema: unknown, path: string): Schema {
  let found = schema
  for (let jump = 0; isSchema(found) && jump < maxMerges; jump++) {
    const step = flattenSchema(source, found, path)
    if (!('reference' in step)) return step.schema
    found = step.target
  }
  return {}
}

/** Resolves a local reference: `#`, `#/$defs/x` or `#/properties/x`. Returns undefined without a target. */
function resolvePointer(root: unknown, reference: string): unknown {
  if (reference === '#') return root
  if (!reference.startsWith('#/')) return undefined
  let value: unknown = root
  for (const part of reference.slice(2).split('/')) {
    const name = decode(part)
    if (typeof value !== 'object' || value === null || name === null) return undefined
    if (!Object.hasOwn(value, name)) return undefined
    value = (value as Schema)[name]
  }
  return value
}

function decode(part: string): string | null {
  try {
    return decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return null
  }
}
