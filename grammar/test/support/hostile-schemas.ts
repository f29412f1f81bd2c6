/** Schemas whose conversion or grammar would take seconds, and the keyword that a refusal names. */

/** Definitions: each combines the one before it twice. */
export function combineTwice(depth: number, first: object) {
  const defs = Array.from({ length: depth + 1 }, (_, level) => {
    const before = { $ref: `#/$defs/a${level - 1}` }
    return [`a${level}`, level === 0 ? first : { allOf: [before, before] }]
  })
  return { $ref: `#/$defs/a${depth}`, $defs: Object.fromEntries(defs) }
}

/** Arrays of arrays, each one of 20 that differ only at their ends. */
function overlap(depth: number) {
  const defs = Array.from({ length: depth + 1 }, (_, level) => {
    const items = { $ref: `#/$defs/d${level - 1}` }
    const arrays = Array.from({ length: 20 }, (_, most) => ({ type: 'array', items, maxItems: most + 1 }))
    return [`d${level}`, level === 0 ? { type: 'string' } : { anyOf: arrays }]
  })
  return { $ref: `#/$defs/d${depth}`, $defs: Object.fromEntries(defs) }
}

const letters = Array.from({ length: 90 }, (_, index) => String.fromCodePoint(0x4e00 + index)).join('|')
export const properties = (count: number, make: (index: number) => object) => ({
  type: 'object',
  properties: Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, make(index)])),
})

export const hostileSchemas: readonly (readonly [name: string, keyword: string, schema: object])[] = [
  ['patterns', 'pattern', properties(10, () => ({ pattern: `^(${letters}|${'a{1000}'.repeat(3)}a{900})$` }))],
  ['200,000 values', 'enum', { enum: Array.from({ length: 200_000 }, (_, index) => `v${index}`) }],
  ['a long pattern', 'pattern', { pattern: 'a'.repeat(1_000_000) }],
  ['nested repetitions', 'pattern', { pattern: '^((a{1,1000}){1,1000}){1,1000}$' }],
  ['nested groups', 'pattern', { pattern: `${'('.repeat(1900)}a${')'.repeat(1900)}` }],
  ['arrays that overlap', 'anyOf', overlap(6)],
  ['many lengths', 'maxLength', properties(900, (index) => ({ minLength: 1, maxLength: 100 + index }))],
  ['many steps', 'multipleOf', properties(1900, (index) => ({ multipleOf: 97, minimum: index + 0.1 }))],
  ['many bounds', 'minimum', properties(1900, (index) => ({ minimum: 0.123 + index, maximum: 1e9 + index }))],
  ['many optional properties', 'properties', properties(4000, () => ({}))],
  ['many alternatives', 'oneOf', { oneOf: Array.from({ length: 4000 }, (_, index) => ({ const: index })) }],
  ['merged values', 'allOf', combineTwice(3, { enum: Array.from({ length: 120_000 }, (_, index) => index) })],
]
