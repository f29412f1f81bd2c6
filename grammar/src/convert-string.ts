import { readBounds } from './bounds.ts'
import type { Conversion } from './conversion.ts'
import { tooComplex } from './schema/json-schema.ts'
import type { Schema } from './schema/json-schema.ts'
import { writeStringRules } from './string-grammar.ts'
import { TooComplexError, toAutomaton } from './strings/automaton.ts'
import { formatPatterns } from './strings/formats.ts'
import { createLanguageAlgebra } from './strings/language.ts'
import type { Language, LanguageAlgebra } from './strings/language.ts'
import { anyCharacter } from './strings/ranges.ts'
import { PatternError, toLanguage } from './strings/regular-expression.ts'

/** The expression of the strings that a schema accepts. */
export function convertString(conversion: Conversion, schema: Schema, path: string): string {
  const { json, refuse, strings } = conversion
  const { min, max } = readBounds(schema, ['minLength', 'maxLength'], path, refuse)
  const patterns = [schema['pattern'] ?? []].flat() as string[]
  const formats = ([schema['format'] ?? []].flat() as string[]).filter((format) => {
    if (Object.hasOwn(formatPatterns, format)) return true
    // Libraries name their own formats beside the pattern that describes them.
    if (patterns.length === 0) refuse(path, `the format "${format.slice(0, 64)}" is not supported`)
    return false
  })
  if (patterns.length === 0 && formats.length === 0) {
    return min === 0 && max === null ? json.text : `"\\"" ${json.character}{${min},${max ?? ''}} "\\""`
  }
  const key = JSON.stringify([min, max, formats, patterns])
  const known = strings.get(key)
  if (known !== undefined) return known
  const expression = convertLanguage(conversion, path, (algebra) => {
    const { and, set, repeat } = algebra
    return and(
      repeat(set(anyCharacter), min, max ?? Infinity),
      ...formats.map((format) => toLanguage(algebra, `^(?:${formatPatterns[format]})$`)),
      ...patterns.map((pattern) => toLanguage(algebra, pattern)),
    )
  })
  strings.set(key, expression)
  return expression
}

/** The expression of the strings of a language. */
export function convertLanguage(
  { writer, refuse, budget }: Conversion,
  path: string,
  build: (algebra: LanguageAlgebra) => Language,
): string {
  try {
    const spendSteps = (steps: number): void => {
      if (!budget.take(steps)) throw new TooComplexError()
    }
    const algebra = createLanguageAlgebra(spendSteps)
    const automaton = toAutomaton(algebra, build(algebra), spendSteps)
    if (automaton === null) return refuse(path, 'no string matches "pattern", "format" and the lengths')
    return writeStringRules(automaton, writer)
  } catch (error) {
    if (error instanceof PatternError) return refuse(path, `the "pattern" ${error.message}`)
    if (error instanceof TooComplexError || error instanceof RangeError) throw tooComplex(path, 'pattern')
    throw error
  }
}
