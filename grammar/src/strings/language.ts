import { freely } from '../work-budget.ts'
import type { SpendSteps } from '../work-budget.ts'
import { anyCharacter } from './ranges.ts'
import type { Ranges } from './ranges.ts'

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

/** Constructors of languages, which simplify what they build. */
export interface LanguageAlgebra {
  /** No string */
  none: Language
  /** Only the empty string */
  empty: Language
  /** All strings */
  anything: Language
  /** The strings of one character of the ranges */
  set: (ranges: Ranges) => Language
  sequence: (first: Language, rest: Language) => Language
  repeat: (of: Language, min: number, max: number) => Language
  or: (...parts: Language[]) => Language
  and: (...parts: Language[]) => Language
  not: (of: Language) => Language
  /** The ranges of all languages built so far */
  sets: readonly Ranges[]
}

/** `spend` takes steps of the work that is allowed, or throws. */
export function createLanguageAlgebra(spend: SpendSteps = freely): LanguageAlgebra {
  const interned = new Map<string, Language>()
  const sets: Ranges[] = []
  const intern = (key: string, nullable: boolean, node: Node): Language => {
    const known = interned.get(key)
    if (known !== undefined) return known
    const language = { id: interned.size, nullable, node }
    interned.set(key, language)
    if (node.type === 'set') sets.push(node.ranges)
    return language
  }

  const none = intern('none', false, { type: 'none' })
  const empty = intern('empty', true, { type: 'empty' })
  const set = (ranges: Ranges): Language => {
    spend(ranges.length * 4)
    return ranges.length === 0 ? none : intern(`set ${ranges.join(' ')}`, false, { type: 'set', ranges })
  }
  const sequence = (first: Language, rest: Language): Language => {
    spend(2)
    if (first === none || rest === none) return none
    if (first === empty) return rest
    if (rest === empty) return first
    const { node } = first
    if (node.type === 'sequence') return sequence(node.first, sequence(node.rest, rest))
    const nullable = first.nullable && rest.nullable
    return intern(`seq ${first.id} ${rest.id}`, nullable, { type: 'sequence', first, rest })
  }
  const repeat = (of: Language, min: number, max: number): Language => {
    spend(2)
    if (max === 0 || of === empty) return empty
    if (of === none) return min === 0 ? empty : none
    if (min === 1 && max === 1) return of
    const least = of.nullable ? 0 : min
    return intern(`rep ${of.id} ${least} ${max}`, least === 0, { type: 'repeat', of, min: least, max })
  }
  const anything = repeat(set(anyCharacter), 0, Infinity)
  return {
    none,
    empty,
    anything,
    set,
    sequence,
    repeat,
    sets,
    ...createConnectives({ none, anything, intern, spend }),
  }
}

interface Constants {
  none: Language
  anything: Language
  intern: (key: string, nullable: boolean, node: Node) => Language
  spend: SpendSteps
}

function createConnectives({ none, anything, intern, spend }: Constants) {
  const join = (type: 'or' | 'and', parts: readonly Language[]): Language => {
    const [neutral, absorbing] = type === 'or' ? [none, anything] : [anything, none]
    const flat = parts.flatMap((part) => (part.node.type === type ? part.node.parts : [part]))
    spend(flat.length * 4)
    if (flat.includes(absorbing)) return absorbing
    const unique = [...new Set(flat)].filter((part) => part !== neutral).toSorted((a, b) => a.id - b.id)
    if (unique.length === 0) return neutral
    if (unique.length === 1) return unique[0]!
    const nullable =
      type === 'or' ? unique.some((part) => part.nullable) : unique.every((part) => part.nullable)
    return intern(`${type} ${unique.map(({ id }) => id).join(' ')}`, nullable, { type, parts: unique })
  }
  return {
    or: (...parts: Language[]): Language => join('or', parts),
    and: (...parts: Language[]): Language => join('and', parts),
    not: (of: Language): Language => {
      if (of === none) return anything
      if (of === anything) return none
      if (of.node.type === 'not') return of.node.of
      return intern(`not ${of.id}`, !of.nullable, { type: 'not', of })
    },
  }
}
