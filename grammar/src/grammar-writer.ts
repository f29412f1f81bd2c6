import { tooComplex } from './schema/json-schema.ts'
import type { Refuse } from './schema/json-schema.ts'
import { WorkBudget } from './work-budget.ts'

const maxRules = 40_000

const charactersPerStep = 8
/** llama.cpp copies what is repeated, which takes about as long as so many steps. */
const stepsPerCopy = 10

/** The steps that llama.cpp takes to read an expression: its alternatives are compared with each other. */
function countWork(expression: string): number {
  let copies = 0
  for (const [, least, most] of expression.matchAll(/\{(\d+)(?:,(\d*))?\}/g)) copies += Number(most || least)
  const alternatives = expression.split(' | ').length
  return expression.length / charactersPerStep + copies * stepsPerCopy + alternatives ** 2 / 8
}

/** The rules of a grammar under construction. An expression is a text in llama.cpp's notation (GBNF). */
export class GrammarWriter {
  readonly #refuse: Refuse
  readonly #prefix: string
  readonly #budget: WorkBudget
  readonly #rules = new Map<string, string>()
  readonly #names = new Map<string, string>()
  readonly #targets = new Map<unknown, string>()
  #place: [path: string, keyword: string] = ['#', 'type']
  /** Rules of references whose grammar has not consumed a character yet. llama.cpp rejects left recursion. */
  #open = new Set<string>()

  /** `refuse` rejects a grammar too large or invalid for llama.cpp. `prefix` lets grammars join. */
  constructor(refuse: Refuse, prefix = 'r', budget = new WorkBudget(Infinity)) {
    this.#refuse = refuse
    this.#prefix = prefix
    this.#budget = budget
  }

  /** Expressions by rule name */
  get rules(): ReadonlyMap<string, string> {
    return this.#rules
  }

  /** Returns the name of a rule with this expression. Equal expressions share one rule. */
  add(expression: string): string {
    this.#spend(1 + expression.length / charactersPerStep)
    const known = this.#names.get(expression)
    if (known !== undefined) return known
    const name = this.reserve()
    this.define(name, expression)
    this.#names.set(expression, name)
    return name
  }

  /** Names the part of the schema that is being written, if the budget does not suffice for it. */
  describe(path: string, keyword: string): void {
    this.#place = [path, keyword]
  }

  #spend(steps: number): void {
    if (!this.#budget.take(steps)) throw tooComplex(...this.#place)
  }

  /** Returns a new name, whose expression `define` sets later. */
  reserve(): string {
    if (this.#rules.size > maxRules) this.#refuse('#', 'its grammar is too large')
    const name = `${this.#prefix}${this.#rules.size}`
    this.#rules.set(name, '')
    return name
  }

  define(name: string, expression: string): void {
    this.#spend(countWork(expression))
    this.#rules.set(name, expression)
  }

  /** The rule of a target. A new one runs `convert`, which may refer to it again only after a character. */
  refer(target: unknown, path: string, convert: () => string): string {
    const known = this.#targets.get(target)
    if (known !== undefined) {
      return this.#open.has(known) ? this.#refuse(path, '"$ref" refers to itself') : known
    }
    const name = this.reserve()
    this.#targets.set(target, name)
    this.#open.add(name)
    this.define(name, convert())
    this.#open.delete(name)
    return name
  }

  /** Runs a conversion whose grammar comes after a character. */
  nest(convert: () => string): string {
    const outside = this.#open
    this.#open = new Set()
    const converted = convert()
    this.#open = outside
    return converted
  }
}
