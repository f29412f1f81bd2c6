import {
  ANY_CHARACTER,
  normalizeRanges,
  subtractRanges,
  type Language,
  type LanguageAlgebra,
  type Ranges,
} from './language.ts'

type Tree =
  | { type: 'set'; ranges: Ranges }
  | { type: 'sequence' | 'choice'; parts: Tree[] }
  | { type: 'repeat'; of: Tree; min: number; max: number }
  | { type: 'start' | 'end' }
  | { type: 'look'; negated: boolean; of: Tree }

/** A regular expression that is invalid or uses an unsupported feature; the message completes "the pattern …". */
export class PatternError extends Error {}

const MAX_COUNT = 1000
const DIGITS: Ranges = [[48, 57]]
const WORD: Ranges = [
  [48, 57],
  [65, 90],
  [95, 95],
  [97, 122],
]
const SPACE: Ranges = normalizeRanges(
  [9, 10, 11, 12, 13, 32, 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff]
    .map((point) => [point, point] as const)
    .concat([[0x2000, 0x200a]]),
)
const LINE_ENDS: Ranges = [
  [10, 10],
  [13, 13],
  [0x2028, 0x2029],
]
const CONTROLS: Record<string, number> = { n: 10, r: 13, t: 9, v: 11, f: 12 }

/**
 * Converts an ECMAScript regular expression with the flag `u` to the language of all strings that contain a match, as the JSON Schema
 * keyword `pattern` defines it. Supports lookaheads. Throws a PatternError.
 */
export function toLanguage(algebra: LanguageAlgebra, source: string): Language {
  const tree = parsePattern(source)
  const { anything, sequence, repeat, or, set } = algebra
  const something = repeat(set(ANY_CHARACTER), 1, Infinity)
  return or(
    compile(algebra, tree, anything, true),
    sequence(something, compile(algebra, tree, anything, false)),
  )
}

/** The language of the tree followed by `rest`, which reaches to the end of the string. */
function compile(algebra: LanguageAlgebra, tree: Tree, rest: Language, atStart: boolean): Language {
  const { none, empty, anything, set, sequence, repeat, or, and, not } = algebra
  switch (tree.type) {
    case 'set':
      return sequence(set(tree.ranges), rest)
    case 'sequence': {
      const moved = tree.parts.findIndex((part) => !isZeroWidth(part))
      return tree.parts.reduceRight(
        (after, part, index) => compile(algebra, part, after, atStart && (moved === -1 || index <= moved)),
        rest,
      )
    }
    case 'choice':
      return or(...tree.parts.map((part) => compile(algebra, part, rest, atStart)))
    case 'start':
      return atStart ? rest : none
    case 'end':
      return rest.nullable ? empty : none
    case 'look': {
      const ahead = compile(algebra, tree.of, anything, atStart)
      return and(tree.negated ? not(ahead) : ahead, rest)
    }
    case 'repeat': {
      if (!hasAssertion(tree.of)) {
        return sequence(repeat(compile(algebra, tree.of, empty, false), tree.min, tree.max), rest)
      }
      if (tree.max > 1) throw new PatternError('repeats an assertion')
      const once = compile(algebra, tree.of, rest, atStart)
      return tree.min === 1 ? once : tree.max === 0 ? rest : or(once, rest)
    }
  }
}

function isZeroWidth(tree: Tree): boolean {
  return tree.type === 'start' || tree.type === 'end' || tree.type === 'look'
}

function hasAssertion(tree: Tree): boolean {
  if (tree.type === 'repeat') return hasAssertion(tree.of)
  return 'parts' in tree ? tree.parts.some(hasAssertion) : isZeroWidth(tree)
}

function parsePattern(source: string): Tree {
  checkSyntax(source)
  const characters = Array.from(source)
  let at = 0
  const next = (): string => characters[at++]!
  const take = (text: string): boolean => {
    if (
      !characters
        .slice(at, at + text.length)
        .join('')
        .startsWith(text)
    )
      return false
    at += text.length
    return true
  }

  function parseChoice(): Tree {
    const parts = [parseSequence()]
    while (take('|')) parts.push(parseSequence())
    return parts.length === 1 ? parts[0]! : { type: 'choice', parts }
  }

  function parseSequence(): Tree {
    const parts: Tree[] = []
    while (at < characters.length && characters[at] !== '|' && characters[at] !== ')') {
      parts.push(parseQuantifier(parseAtom()))
    }
    return { type: 'sequence', parts }
  }

  function parseQuantifier(of: Tree): Tree {
    const [, least, comma, most] = /^\{(\d+)(,?)(\d*)\}/.exec(characters.slice(at, at + 24).join('')) ?? []
    let bounds: [number, number] | undefined
    if (least !== undefined) {
      at = characters.indexOf('}', at) + 1
      bounds = [Number(least), most !== '' ? Number(most) : comma === '' ? Number(least) : Infinity]
    } else if (take('*')) bounds = [0, Infinity]
    else if (take('+')) bounds = [1, Infinity]
    else if (take('?')) bounds = [0, 1]
    if (bounds === undefined) return of
    // A lazy quantifier matches the same strings.
    take('?')
    const [min, max] = bounds
    if (min > MAX_COUNT || (max > MAX_COUNT && max !== Infinity)) {
      throw new PatternError(`repeats a part more than ${MAX_COUNT} times`)
    }
    return { type: 'repeat', of, min, max }
  }

  function parseAtom(): Tree {
    const character = next()
    if (character === '^') return { type: 'start' }
    if (character === '$') return { type: 'end' }
    if (character === '.') return { type: 'set', ranges: subtractRanges(ANY_CHARACTER, LINE_ENDS) }
    if (character === '[') return { type: 'set', ranges: parseClass() }
    if (character === '(') return parseGroup()
    if (character !== '\\') return { type: 'set', ranges: only(character.codePointAt(0)!) }
    if (/[bB]/.test(characters[at]!)) throw new PatternError('uses a word boundary')
    return { type: 'set', ranges: parseEscape() }
  }

  function parseGroup(): Tree {
    const look = take('?=') ? { negated: false } : take('?!') ? { negated: true } : null
    if (look === null && take('?<')) {
      if (characters[at] === '=' || characters[at] === '!') throw new PatternError('uses a lookbehind')
      at = characters.indexOf('>', at) + 1
    } else if (look === null && take('?') && !take(':')) {
      throw new PatternError('changes flags inside a group')
    }
    const of = parseChoice()
    at++
    return look === null ? of : { type: 'look', negated: look.negated, of }
  }

  function parseClass(): Ranges {
    const negated = take('^')
    const ranges: (readonly [number, number])[] = []
    while (!take(']')) {
      const first = parseMember()
      const isRange = characters[at] === '-' && characters[at + 1] !== ']'
      if (isRange && first.length === 1 && first[0]![0] === first[0]![1]) {
        at++
        const last = parseMember()
        ranges.push([first[0]![0], last[0]![0]])
      } else ranges.push(...first)
    }
    const positive = normalizeRanges(ranges)
    return negated ? subtractRanges(ANY_CHARACTER, positive) : positive
  }

  function parseMember(): Ranges {
    const character = next()
    return character === '\\' ? parseEscape() : only(character.codePointAt(0)!)
  }

  function parseEscape(): Ranges {
    const character = next()
    const classes: Record<string, Ranges> = { d: DIGITS, w: WORD, s: SPACE }
    const named = classes[character.toLowerCase()]
    if (named !== undefined) return character in classes ? named : subtractRanges(ANY_CHARACTER, named)
    if (character in CONTROLS) return only(CONTROLS[character]!)
    if (character === 'b') return only(8)
    if (character === 'c') return only(next().charCodeAt(0) % 32)
    if (character === 'x') return only(parseHex(2))
    if (character === 'u') {
      if (!take('{')) return only(parseHex(4))
      const length = characters.indexOf('}', at) - at
      const point = parseHex(length)
      at++
      return only(point)
    }
    if (/[1-9k]/.test(character)) throw new PatternError('uses a backreference')
    if (/[pP]/.test(character)) throw new PatternError('uses a Unicode property')
    return character === '0' ? [] : only(character.codePointAt(0)!)
  }

  function parseHex(length: number): number {
    const digits = characters.slice(at, at + length).join('')
    at += length
    return Number.parseInt(digits, 16)
  }

  return parseChoice()
}

function checkSyntax(source: string): RegExp {
  try {
    return new RegExp(source, 'u')
  } catch {
    throw new PatternError('is not a valid regular expression')
  }
}

const only = (point: number): Ranges => [[point, point]]
