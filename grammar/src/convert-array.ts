import { readBounds } from './bounds.ts'
import type { Conversion } from './conversion.ts'
import type { Schema } from './schema/json-schema.ts'

/** The expression of the arrays that a schema accepts. */
export function convertArray({ json, refuse, convert }: Conversion, schema: Schema, path: string): string {
  const { space } = json
  const { items, prefixItems = [] } = schema
  const { min, max } = readBounds(schema, ['minItems', 'maxItems'], path, refuse)
  const prefix = (prefixItems as unknown[])
    .slice(0, max ?? Infinity)
    .map((item, index) => convert(item, `${path}/prefixItems/${index}`))
  const closed = items === false || (items === undefined && prefix.length > 0)
  if (closed && min > prefix.length) refuse(path, '"minItems" exceeds the described items')
  const isFull = closed || max === prefix.length
  if (prefix.length > 0) {
    const listed = prefix.join(` "," ${space} `)
    if (isFull) return `"[" ${space} ${listed} ${space} "]"`
    const item = convert(items, `${path}/items`)
    const more = `{${Math.max(0, min - prefix.length)},${max === null ? '' : max - prefix.length}}`
    return `"[" ${space} ${listed} ("," ${space} ${item})${more} ${space} "]"`
  }
  if (isFull) return `"[" ${space} "]"`
  const item = items === undefined ? json.anything() : convert(items, `${path}/items`)
  return `"[" ${json.list(item, { min, max })} "]"`
}
