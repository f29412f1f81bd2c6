import type { Language, LanguageAlgebra } from './language.ts'
import { hasPoint, normalizeRanges, partition } from './ranges.ts'
import type { Ranges } from './ranges.ts'

const maxStates = 4000
const maxDerivatives = 400_000

/** A deterministic automaton. State 0 is the start. */
export interface Automaton {
  states: { accepting: boolean; edges: { ranges: Ranges; to: number }[] }[]
}

/** An automaton that would exceed the limits. */
export class TooComplexError extends Error {}

/**
 * Builds a language's automaton without unreachable or dead states from derivatives (Brzozowski 1964).
 * Returns null for the empty language. Throws a TooComplexError.
 */
export function toAutomaton(algebra: LanguageAlgebra, start: Language): Automaton | null {
  const alphabet = partition(algebra.sets)
  const { languages, targets } = explore(algebra, start, alphabet)
  const live = findLive(languages, targets)
  if (!live.has(0)) return null
  const kept = [...live].toSorted((a, b) => a - b)
  const numbers = new Map(kept.map((state, index) => [state, index]))
  return {
    states: kept.map((state) => {
      const edges = new Map<number, (readonly [number, number])[]>()
      for (const [part, target] of targets[state]!.entries()) {
        const to = numbers.get(target)
        if (to !== undefined) edges.set(to, [...(edges.get(to) ?? []), ...alphabet[part]!])
      }
      return {
        accepting: languages[state]!.nullable,
        edges: [...edges].map(([to, ranges]) => ({ to, ranges: normalizeRanges(ranges) })),
      }
    }),
  }
}

/** Finds all derivatives. `targets` has the next language's number by state and part of the alphabet. */
function explore(
  algebra: LanguageAlgebra,
  start: Language,
  alphabet: readonly Ranges[],
): { languages: Language[]; targets: number[][] } {
  const derivation = new Derivation(algebra)
  const languages = [start]
  const numbers = new Map([[start, 0]])
  const targets: number[][] = []
  for (let state = 0; state < languages.length; state++) {
    if (state > maxStates) throw new TooComplexError()
    targets.push(
      alphabet.map((ranges) => {
        const next = derivation.derive(languages[state]!, ranges[0]![0])
        if (!numbers.has(next)) numbers.set(next, languages.push(next) - 1)
        return numbers.get(next)!
      }),
    )
  }
  return { languages, targets }
}

/** Finds the language of the rests of all strings of a language that begin with a character. */
class Derivation {
  readonly #algebra: LanguageAlgebra
  readonly #known = new Map<number, Map<Language, Language>>()
  #derivatives = 0

  constructor(algebra: LanguageAlgebra) {
    this.#algebra = algebra
  }

  derive(language: Language, character: number): Language {
    const known = this.#known.get(character) ?? new Map<Language, Language>()
    this.#known.set(character, known)
    let derived = known.get(language)
    if (derived === undefined) {
      if (++this.#derivatives > maxDerivatives) throw new TooComplexError()
      derived = this.#compute(language, character)
      known.set(language, derived)
    }
    return derived
  }

  #compute({ node }: Language, character: number): Language {
    const { none, empty, sequence, repeat, or, and, not } = this.#algebra
    switch (node.type) {
      case 'none':
      case 'empty':
        return none
      case 'set':
        return hasPoint(node.ranges, character) ? empty : none
      case 'sequence': {
        const taken = sequence(this.derive(node.first, character), node.rest)
        return node.first.nullable ? or(taken, this.derive(node.rest, character)) : taken
      }
      case 'repeat': {
        const rest = repeat(node.of, Math.max(0, node.min - 1), node.max - 1)
        return sequence(this.derive(node.of, character), rest)
      }
      case 'or':
        return or(...node.parts.map((part) => this.derive(part, character)))
      case 'and':
        return and(...node.parts.map((part) => this.derive(part, character)))
      case 'not':
        return not(this.derive(node.of, character))
    }
  }
}

/** The states that lead to an accepting state. */
function findLive(languages: readonly Language[], targets: readonly number[][]): Set<number> {
  const live = new Set(languages.flatMap(({ nullable }, state) => (nullable ? [state] : [])))
  for (let size = -1; size !== live.size;) {
    size = live.size
    for (const [state, to] of targets.entries()) if (to.some((target) => live.has(target))) live.add(state)
  }
  return live
}
