import { freely } from '../work-budget.ts'
import type { SpendSteps } from '../work-budget.ts'
import type { Language, LanguageAlgebra } from './language.ts'
import { hasPoint, normalizeRanges, partition } from './ranges.ts'
import type { Ranges } from './ranges.ts'

const maxStates = 4000

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
export function toAutomaton(
  algebra: LanguageAlgebra,
  start: Language,
  spend: SpendSteps = freely,
): Automaton | null {
  const alphabet = partition(algebra.sets, spend)
  const { languages, targets } = explore(algebra, start, alphabet, spend)
  const live = findLive(languages, targets)
  if (!live.has(0)) return null
  const kept = [...live].toSorted((a, b) => a - b)
  const numbers = new Map(kept.map((state, index) => [state, index]))
  return {
    states: kept.map((state) => {
      const edges = new Map<number, (readonly [number, number])[]>()
      for (const [part, target] of targets[state]!.entries()) {
        const to = numbers.get(target)
        if (to === undefined) continue
        const ranges = edges.get(to) ?? []
        spend(alphabet[part]!.length * 2)
        for (const range of alphabet[part]!) ranges.push(range)
        edges.set(to, ranges)
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
  spend: SpendSteps,
): { languages: Language[]; targets: number[][] } {
  const derivation = new Derivation(algebra, spend)
  const languages = [start]
  const numbers = new Map([[start, 0]])
  const targets: number[][] = []
  for (let state = 0; state < languages.length; state++) {
    if (state > maxStates) throw new TooComplexError()
    spend(alphabet.length * 2)
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
  readonly #spend: SpendSteps

  constructor(algebra: LanguageAlgebra, spend: SpendSteps) {
    this.#algebra = algebra
    this.#spend = spend
  }

  derive(language: Language, character: number): Language {
    const known = this.#known.get(character) ?? new Map<Language, Language>()
    this.#known.set(character, known)
    let derived = known.get(language)
    if (derived === undefined) {
      this.#spend(4)
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
        this.#spend(node.ranges.length)
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
  const sources: number[][] = languages.map(() => [])
  for (const [state, to] of targets.entries()) for (const target of to) sources[target]!.push(state)
  const live = new Set(languages.flatMap(({ nullable }, state) => (nullable ? [state] : [])))
  // The loop also visits the states that it adds.
  for (const state of live) for (const source of sources[state]!) live.add(source)
  return live
}
