/** Returns a generator of hostile schemas; the same seed makes the same ones. */
export function createSchemaGenerator(seed: number): () => object {
  let state = seed
  /** A whole number below `limit` (xorshift) */
  const below = (limit: number): number => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % limit
  }
  const pick = <Item>(items: readonly Item[]): Item => items[below(items.length)]!
  const size = (): number => pick([0, 1, 2, 5, 20, 100, 1000])
  const listOf = <Item>(count: number, make: (index: number) => Item): Item[] =>
    Array.from({ length: count }, (_, index) => make(index))
  const pattern = (depth: number): string => {
    if (depth === 0)
      return pick(['a', '[a-z]', '\\d', '.', '\\w+', 'é', '(?=b)', '$', '^', '\\p{L}', 'x{1000}'])
    const inner = pattern(depth - 1)
    return pick([
      `(${inner}|${pattern(depth - 1)})`,
      `(${inner}){${below(3)},${size()}}`,
      `(?:${inner})*`,
      `${inner}${pattern(depth - 1)}`,
      `(?!${inner})`,
      `[^${pick(['a', '\\d', 'x-z'])}]${inner}`,
    ])
  }
  const text = (): object => ({
    type: 'string',
    ...pick([
      {},
      { pattern: pattern(below(8)) },
      { format: pick(['email', 'uri', 'date-time', 'ipv6', 'hostname']) },
      { minLength: size(), maxLength: size() },
    ]),
  })
  const number = (): object => ({
    type: pick(['number', 'integer']),
    ...pick([
      {},
      { minimum: below(1e9) / 7 },
      { multipleOf: below(200) / 8 },
      { exclusiveMaximum: -below(1e6) / 3 },
    ]),
  })
  const part = (depth: number): unknown => {
    if (depth === 0)
      return pick<() => unknown>([text, number, () => true, () => ({}), () => ({ type: { toString: 1 } })])()
    const next = (): unknown => part(depth - 1)
    const name = (): string => `d${below(6)}`
    return pick<() => unknown>([
      text,
      number,
      () => ({
        enum: listOf(size() * pick([1, 1, 50]), (index) => pick([index, `value ${index}`, [index]])),
      }),
      () => ({
        type: 'object',
        properties: Object.fromEntries(listOf(pick([1, 3, 40]), (at) => [`p${at}`, next()])),
      }),
      () => ({ type: 'array', items: next(), minItems: size(), maxItems: size() }),
      () => ({ [pick(['anyOf', 'oneOf', 'allOf'])]: listOf(pick([2, 3, 20]), next) }),
      () => ({ allOf: listOf(2, () => ({ $ref: `#/$defs/${name()}` })) }),
      () => ({ $ref: `#/$defs/${name()}` }),
      () => ({ type: 'array', prefixItems: listOf(3, next), items: next() }),
      () => ({ propertyNames: text(), additionalProperties: next() }),
    ])()
  }
  return () => {
    const $defs = Object.fromEntries(listOf(6, (index) => [`d${index}`, part(below(4))]))
    const root = part(1 + below(4))
    return { ...(typeof root === 'object' ? root : {}), $defs }
  }
}
