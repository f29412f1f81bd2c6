/** Inclusive ranges of code points, sorted and disjoint. */
export type Ranges = readonly (readonly [first: number, last: number])[]

/** A regular language over Unicode code points. Equal nodes of one algebra are the same object. */
export interface Language {
  readonly id: number
  /** True when the language holds the empty string */
  readonly nullable: boolean
  readonly node: Node
}

type Node =
  | { type: 'none' | 'empty' }
  | { type: 'set'; ranges: Ranges }
  | { type: 'sequence'; first: Language; rest: Language }
  | { type: 'repeat'; of: Language; min: number; max: number }
  | { type: 'or' | 'and'; parts: readonly Language[] }
  | { type: 'not'; of: Language }

const MAX_STATES = 4000
const MAX_DERIVATIVES = 400_000
export const ANY_CHARACTER: Ranges = [
  [1, 0xd7ff],
  [0xe000, 0x10ffff],
]

/** A deterministic automaton. State 0 is the start. */
export interface Automaton {
  states: { accepting: boolean; edges: { ranges: Ranges; to: number }[] }[]
}

export type LanguageAlgebra = ReturnType<typeof createLanguageAlgebra>

/** Creates constructors of languages, and `toAutomaton`, which uses derivatives (Brzozowski 1964). */
export function createLanguageAlgebra() {
  const interned = new Map<string, Language>()
  const sets: Ranges[] = []

  function intern(key: string, nullable: boolean, node: Node): Language {
    const known = interned.get(key)
    if (known !== undefined) return known
    const language = { id: interned.size, nullable, node }
    interned.set(key, language)
    if (node.type === 'set') sets.push(node.ranges)
    return language
  }

  const none = intern('none', false, { type: 'none' })
  const empty = intern('empty', true, { type: 'empty' })

  function set(ranges: Ranges): Language {
    if (ranges.length === 0) return none
    return intern(`set ${ranges.join(' ')}`, false, { type: 'set', ranges })
  }

  function sequence(first: Language, rest: Language): Language {
    if (first === none || rest === none) return none
    if (first === empty) return rest
    if (rest === empty) return first
    const { node } = first
    if (node.type === 'sequence') return sequence(node.first, sequence(node.rest, rest))
    const nullable = first.nullable && rest.nullable
    return intern(`seq ${first.id} ${rest.id}`, nullable, { type: 'sequence', first, rest })
  }

  function repeat(of: Language, min: number, max: number): Language {
    if (max === 0 || of === empty) return empty
    if (of === none) return min === 0 ? empty : none
    if (min === 1 && max === 1) return of
    const least = of.nullable ? 0 : min
    return intern(`rep ${of.id} ${least} ${max}`, least === 0, { type: 'repeat', of, min: least, max })
  }

  const anything = repeat(set(ANY_CHARACTER), 0, Infinity)

  function join(type: 'or' | 'and', parts: readonly Language[]): Language {
    const [neutral, absorbing] = type === 'or' ? [none, anything] : [anything, none]
    const flat = parts.flatMap((part) => (part.node.type === type ? part.node.parts : [part]))
    if (flat.includes(absorbing)) return absorbing
    const unique = [...new Set(flat)].filter((part) => part !== neutral).toSorted((a, b) => a.id - b.id)
    if (unique.length === 0) return neutral
    if (unique.length === 1) return unique[0]!
    const nullable =
      type === 'or' ? unique.some((part) => part.nullable) : unique.every((part) => part.nullable)
    return intern(`${type} ${unique.map(({ id }) => id).join(' ')}`, nullable, { type, parts: unique })
  }
  const or = (...parts: Language[]): Language => join('or', parts)
  const and = (...parts: Language[]): Language => join('and', parts)

  function not(of: Language): Language {
    if (of === none) return anything
    if (of === anything) return none
    if (of.node.type === 'not') return of.node.of
    return intern(`not ${of.id}`, !of.nullable, { type: 'not', of })
  }

  let derivatives = 0
  /** The language of the rests of all strings that begin with the character. */
  function derive(language: Language, character: number): Language {
    if (++derivatives > MAX_DERIVATIVES) throw new TooComplexError()
    const { node } = language
    switch (node.type) {
      case 'none':
      case 'empty':
        return none
      case 'set':
        return node.ranges.some(([first, last]) => first <= character && character <= last) ? empty : none
      case 'sequence': {
        const taken = sequence(derive(node.first, character), node.rest)
        return node.first.nullable ? or(taken, derive(node.rest, character)) : taken
      }
      case 'repeat':
        return sequence(derive(node.of, character), repeat(node.of, Math.max(0, node.min - 1), node.max - 1))
      case 'or':
      case 'and':
        return join(
          node.type,
          node.parts.map((part) => derive(part, character)),
        )
      case 'not':
        return not(derive(node.of, character))
    }
  }

  /** Builds the automaton of a language without unreachable or dead states. Returns null for the empty language. */
  function toAutomaton(start: Language): Automaton | null {
    const atoms = atomsOf(sets)
    const order = [start]
    const numbers = new Map([[start, 0]])
    const targets: number[][] = []
    for (let state = 0; state < order.length; state++) {
      if (state > MAX_STATES) throw new TooComplexError()
      targets.push(
        atoms.map((ranges) => {
          const next = derive(order[state]!, ranges[0]![0])
          if (!numbers.has(next)) numbers.set(next, order.push(next) - 1)
          return numbers.get(next)!
        }),
      )
    }
    const live = new Set(order.flatMap(({ nullable }, state) => (nullable ? [state] : [])))
    for (let size = -1; size !== live.size;) {
      size = live.size
      for (const [state, to] of targets.entries()) if (to.some((target) => live.has(target))) live.add(state)
    }
    if (!live.has(0)) return null
    const kept = [...live].toSorted((a, b) => a - b)
    const renumbered = new Map(kept.map((state, index) => [state, index]))
    return {
      states: kept.map((state) => {
        const edges = new Map<number, (readonly [number, number])[]>()
        for (const [atom, target] of targets[state]!.entries()) {
          const to = renumbered.get(target)
          if (to !== undefined) edges.set(to, [...(edges.get(to) ?? []), ...atoms[atom]!])
        }
        return {
          accepting: order[state]!.nullable,
          edges: [...edges].map(([to, ranges]) => ({ to, ranges: normalizeRanges(ranges) })),
        }
      }),
    }
  }

  return { none, empty, anything, set, sequence, repeat, or, and, not, toAutomaton }
}

/** An automaton that would exceed the limits. */
export class TooComplexError extends Error {}

/** Sorts ranges and merges neighbors. */
export function normalizeRanges(ranges: Ranges): Ranges {
  const merged: [number, number][] = []
  for (const [first, last] of ranges.toSorted((a, b) => a[0] - b[0])) {
    const previous = merged.at(-1)
    if (previous !== undefined && first <= previous[1] + 1) previous[1] = Math.max(previous[1], last)
    else merged.push([first, last])
  }
  return merged
}

/** Removes `without` from `ranges`. */
export function subtractRanges(ranges: Ranges, without: Ranges): Ranges {
  let left: (readonly [number, number])[] = [...ranges]
  for (const [first, last] of without) {
    left = left.flatMap(([from, to]) => {
      if (last < from || first > to) return [[from, to] as const]
      return [[from, first - 1] as const, [last + 1, to] as const].filter(([a, b]) => a <= b)
    })
  }
  return normalizeRanges(left)
}

/** Partitions all characters so that no set distinguishes two characters of one part. */
function atomsOf(sets: readonly Ranges[]): Ranges[] {
  const edges = sets.flatMap((ranges) => ranges.flatMap(([first, last]) => [first, last + 1]))
  const starts = [...new Set(edges)].toSorted((a, b) => a - b)
  const atoms = new Map<string, (readonly [number, number])[]>()
  for (const [index, first] of starts.slice(0, -1).entries()) {
    const member = (ranges: Ranges): boolean => ranges.some(([from, to]) => from <= first && first <= to)
    const signature = sets.flatMap((ranges, number) => (member(ranges) ? [number] : [])).join(' ')
    if (signature === '') continue
    atoms.set(signature, [...(atoms.get(signature) ?? []), [first, starts[index + 1]! - 1]])
  }
  return [...atoms.values()]
}
