import { RegExpParser } from '@eslint-community/regexpp'
import type { AST } from '@eslint-community/regexpp'
import type { Language, LanguageAlgebra } from './language.ts'
import { anyCharacter, normalizeRanges, subtractRanges } from './ranges.ts'
import type { Ranges } from './ranges.ts'

/** A regular expression is invalid or unsupported; the message completes "the pattern …". */
export class PatternError extends Error {}

const maxCount = 1000
const maxLength = 4000
const notWritable = subtractRanges([[0, 0x10ffff]], anyCharacter)
const lineEnds: Ranges = [
  [10, 10],
  [13, 13],
  [0x2028, 0x2029],
]
const escapedSets: Readonly<Record<'digit' | 'word' | 'space', Ranges>> = {
  digit: [[48, 57]],
  word: [
    [48, 57],
    [65, 90],
    [95, 95],
    [97, 122],
  ],
  space: normalizeRanges(
    [9, 10, 11, 12, 13, 32, 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff]
      .map((point) => [point, point] as const)
      .concat([[0x2000, 0x200a]]),
  ),
}

/**
 * Converts an ECMAScript regular expression with the flag `u` to the language of all strings with a match, as
 * JSON Schema's `pattern`. Supports lookaheads. Throws a PatternError.
 */
export function toLanguage(algebra: LanguageAlgebra, source: string): Language {
  if (source.length > maxLength) throw new PatternError(`has more than ${maxLength} characters`)
  const { alternatives } = parsePattern(source)
  const { anything, sequence, repeat, or, set } = algebra
  const something = repeat(set(anyCharacter), 1, Infinity)
  return or(
    compileChoice(algebra, alternatives, anything, true),
    sequence(something, compileChoice(algebra, alternatives, anything, false)),
  )
}

/** Throws a PatternError. */
export function parsePattern(source: string): AST.Pattern {
  try {
    return new RegExpParser().parsePattern(source, 0, source.length, { unicode: true })
  } catch {
    throw new PatternError('is not a valid regular expression')
  }
}

/** The language of the alternatives followed by `rest`, which reaches to the end of the string. */
function compileChoice(
  algebra: LanguageAlgebra,
  alternatives: readonly AST.Alternative[],
  rest: Language,
  atStart: boolean,
): Language {
  return algebra.or(...alternatives.map(({ elements }) => compileSequence(algebra, elements, rest, atStart)))
}

function compileSequence(
  algebra: LanguageAlgebra,
  elements: readonly AST.Element[],
  rest: Language,
  atStart: boolean,
): Language {
  const moved = elements.findIndex(({ type }) => type !== 'Assertion')
  return elements.reduceRight(
    (after, element, index) =>
      compileElement(algebra, element, after, atStart && (moved === -1 || index <= moved)),
    rest,
  )
}

function compileElement(
  algebra: LanguageAlgebra,
  element: AST.Element,
  rest: Language,
  atStart: boolean,
): Language {
  switch (element.type) {
    case 'Assertion':
      return compileAssertion(algebra, element, rest, atStart)
    case 'Quantifier':
      return compileQuantifier(algebra, element, rest, atStart)
    case 'Group':
      if (element.modifiers !== null) throw new PatternError('changes flags inside a group')
      return compileChoice(algebra, element.alternatives, rest, atStart)
    case 'CapturingGroup':
      return compileChoice(algebra, element.alternatives, rest, atStart)
    case 'Backreference':
      throw new PatternError('uses a backreference')
    default:
      return algebra.sequence(algebra.set(subtractRanges(toRanges(element), notWritable)), rest)
  }
}

function compileAssertion(
  algebra: LanguageAlgebra,
  assertion: AST.Assertion,
  rest: Language,
  atStart: boolean,
): Language {
  const { none, empty, anything, and, not } = algebra
  switch (assertion.kind) {
    case 'start':
      return atStart ? rest : none
    case 'end':
      return rest.nullable ? empty : none
    case 'lookahead': {
      const ahead = compileChoice(algebra, assertion.alternatives, anything, atStart)
      return and(assertion.negate ? not(ahead) : ahead, rest)
    }
    case 'lookbehind':
      throw new PatternError('uses a lookbehind')
    case 'word':
      throw new PatternError('uses a word boundary')
  }
}

function compileQuantifier(
  algebra: LanguageAlgebra,
  { element, min, max }: AST.Quantifier,
  rest: Language,
  atStart: boolean,
): Language {
  const { empty, sequence, repeat, or } = algebra
  if (min > maxCount || (max > maxCount && max !== Infinity)) {
    throw new PatternError(`repeats a part more than ${maxCount} times`)
  }
  if (!hasAssertion(element)) {
    return sequence(repeat(compileElement(algebra, element, empty, false), min, max), rest)
  }
  if (max > 1) throw new PatternError('repeats an assertion')
  const once = compileElement(algebra, element, rest, atStart)
  return min === 1 ? once : max === 0 ? rest : or(once, rest)
}

function hasAssertion(element: AST.Element): boolean {
  if (element.type === 'Quantifier') return hasAssertion(element.element)
  if (element.type !== 'Group' && element.type !== 'CapturingGroup') return element.type === 'Assertion'
  return element.alternatives.some(({ elements }) => elements.some(hasAssertion))
}

function toRanges(node: AST.CharacterClassElement | AST.CharacterSet | AST.CharacterClass): Ranges {
  switch (node.type) {
    case 'Character':
      return [[node.value, node.value]]
    case 'CharacterClassRange':
      return [[node.min.value, node.max.value]]
    case 'CharacterClass': {
      const ranges = normalizeRanges(node.elements.flatMap(toRanges))
      return node.negate ? subtractRanges(anyCharacter, ranges) : ranges
    }
    case 'CharacterSet':
      return toSetRanges(node)
    default:
      throw new Error(`${node.type} needs the flag "v".`)
  }
}

function toSetRanges(node: AST.CharacterSet): Ranges {
  if (node.kind === 'any') return subtractRanges(anyCharacter, lineEnds)
  if (node.kind === 'property') throw new PatternError('uses a Unicode property')
  const ranges = escapedSets[node.kind]
  return node.negate ? subtractRanges(anyCharacter, ranges) : ranges
}
