import type { Bounds } from './bounds.ts'
import type { GrammarWriter } from './grammar-writer.ts'
import { toNumberExpression } from './numbers/number-grammar.ts'
import { characterRule } from './string-grammar.ts'

/** The rules that grammars of all schemas share. */
export interface JsonRules {
  /** Optional white space */
  space: string
  character: string
  /** Any string, in quotes */
  text: string
  /** Returns the expression of items between commas, with white space around them. */
  list: (item: string, bounds: Bounds) => string
  /** Returns the name of the rule for any JSON value. */
  anything: () => string
}

/** Adds the rules to a grammar; the rule for any value only when it is used. */
export function createJsonRules(writer: GrammarWriter): JsonRules {
  const space = writer.add('(" " | "\\n" [ \\t]{0,20})?')
  const character = writer.add(characterRule)
  const text = writer.add(`"\\"" ${character}* "\\""`)
  const list = (item: string, { min, max }: Bounds): string => {
    if (max === 0) return space
    const more =
      max === 1 ? '' : `("," ${space} ${item}){${Math.max(0, min - 1)},${max === null ? '' : max - 1}}`
    const items = `${item} ${more} ${space}`
    return min === 0 ? `${space} (${items})?` : `${space} ${items}`
  }
  let anyValue: string | null = null
  const anything = (): string => {
    if (anyValue !== null) return anyValue
    anyValue = writer.reserve()
    const members = list(`${text} ":" ${space} ${anyValue}`, { min: 0, max: null })
    const items = list(anyValue, { min: 0, max: null })
    const number = toNumberExpression({ integer: false }, (rule) => writer.add(rule))
    const texts = [text, `${number}`, '"true"', '"false"', '"null"', `"{" ${members} "}"`, `"[" ${items} "]"`]
    writer.define(anyValue, texts.join(' | '))
    return anyValue
  }
  return { space, character, text, list, anything }
}
