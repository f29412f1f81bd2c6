import { areEqual, contains, toJson, toText } from './python-text.ts'
import {
  BooleanValue,
  FunctionValue,
  IntegerValue,
  Interpreter,
  isBoolean,
  isDict,
  isNumbered,
  isList,
  isNumber,
  isText,
  isUndefined,
  itemsOf,
  keysOf,
  LazyList,
  ListValue,
  NoneValue,
  NumberedDict,
  SafeText,
  TextValue,
  UndefinedValue,
} from './values.ts'
import type { Environment, Node, Value } from './values.ts'

interface Named extends Node {
  value: string
}
interface Binary extends Node {
  operator: { value: string }
  left: Node
  right: Node
}
interface Filtered extends Node {
  operand: Node
  filter: Named & { callee?: Named; args?: Node[] }
}
interface Member extends Node {
  object: Node
  property: Named
  computed: boolean
}
interface Loop extends Node {
  iterable: Node & { lhs?: Node }
}
interface Tested extends Node {
  operand: Node
  test: Named
  negate: boolean
}
interface Keyword extends Node {
  key: Named
  value: Node
}

/** A node that is known already. */
interface Known extends Node {
  type: 'Known'
  value: Value
}

/** A node whose text goes into the result. */
interface Output extends Node {
  type: 'Output'
  expression: Node
}

const known = (value: Value): Known => ({ type: 'Known', value })

/**
 * Runs a template as Jinja2 in transformers: with Python's texts and comparisons instead of the library's
 * JavaScript, and with more features. Other parts throw, so a template never renders something else.
 */
export class PythonInterpreter extends Interpreter {
  override evaluate(node: Node | undefined, scope: Environment): Value {
    switch (node?.type) {
      case 'Known':
        return (node as Known).value
      case 'Output':
        return new TextValue(toText(this.evaluate((node as Output).expression, scope)))
      case 'BinaryExpression':
        return this.#combine(node as Binary, scope)
      case 'FilterExpression':
        return this.#filter(node as Filtered, scope)
      case 'MemberExpression':
        return this.#read(node as Member, scope)
      case 'TestExpression':
        return this.#test(node as Tested, scope)
      case 'For':
        return this.#loop(node as Loop, scope)
      case 'ObjectLiteral':
        return this.#makeDict(node as Node & { value: Map<Node, Node> }, scope)
      default:
        return super.evaluate(node, scope)
    }
  }

  #combine(node: Binary, scope: Environment): Value {
    const operator = node.operator.value
    if (operator === 'and' || operator === 'or') return super.evaluate(node, scope)
    const left = this.evaluate(node.left, scope)
    const right = this.evaluate(node.right, scope)
    switch (operator) {
      case '==':
        return new BooleanValue(areEqual(left, right))
      case '!=':
        return new BooleanValue(!areEqual(left, right))
      case 'in':
        return new BooleanValue(contains(right, left))
      case 'not in':
        return new BooleanValue(!contains(right, left))
      case '~':
        return new TextValue(toText(left) + toText(right))
      case '+':
        if (isText(left) || isText(right)) return join(left, right)
    }
    return super.evaluate({ ...node, left: known(left), right: known(right) } as Node, scope)
  }

  #filter(node: Filtered, scope: Environment): Value {
    const operand = this.evaluate(node.operand, scope)
    const name = node.filter.callee?.value ?? node.filter.value
    const own = filters[name]
    if (own !== undefined) {
      const made = own(operand, this.#readArguments(node.filter.args ?? [], scope))
      if (made !== null) return made
    }
    const isEmpty = isUndefined(operand) && textFilters.has(name)
    const result = super.evaluate(
      { ...node, operand: known(isEmpty ? new TextValue('') : operand) } as Node,
      scope,
    )
    return lazyFilters.has(name) ? new LazyList(result.value as Value[]) : result
  }

  #readArguments(nodes: readonly Node[], scope: Environment): Arguments {
    const positional: Value[] = []
    const named = new Map<string, Value>()
    for (const node of nodes) {
      if (node.type !== 'KeywordArgumentExpression') positional.push(this.evaluate(node, scope))
      else named.set((node as Keyword).key.value, this.evaluate((node as Keyword).value, scope))
    }
    return { at: (index, name) => positional[index] ?? named.get(name) }
  }

  #read(node: Member, scope: Environment): Value {
    const object = this.evaluate(node.object, scope)
    if (isUndefined(object)) throw new Error('an undefined value has no attributes')
    const next = { ...node, object: known(object) } as Member
    if (isText(object) && !node.computed) {
      const method = methods[node.property.value]
      if (method !== undefined) return new FunctionValue((args) => method(object.value, args))
    }
    if (isNumbered(object) && isDict(object) && node.computed) {
      const key = this.evaluate(node.property, scope)
      return object.value.get(toText(key)) ?? new UndefinedValue(undefined)
    }
    // Python finds a method before a member of the same name: `schema.items` is the method.
    if (isDict(object) && !node.computed) {
      const method = dictMethods[node.property.value]
      if (method !== undefined) return new FunctionValue((args) => method(object, args))
    }
    return super.evaluate(next, scope)
  }

  #test(node: Tested, scope: Environment): Value {
    const own = tests[node.test.value]
    if (own === undefined) return super.evaluate(node, scope)
    return new BooleanValue(own(this.evaluate(node.operand, scope)) !== node.negate)
  }

  #loop(node: Loop, scope: Environment): Value {
    const { iterable } = node
    const source = iterable.type === 'SelectExpression' ? iterable.lhs! : iterable
    const items = known(new ListValue(toItems(this.evaluate(source, scope)).map(toPlainList)))
    return super.evaluate(
      { ...node, iterable: source === iterable ? items : { ...iterable, lhs: items } } as Node,
      scope,
    )
  }

  #makeDict(node: Node & { value: Map<Node, Node> }, scope: Environment): Value {
    const keys = [...node.value.keys()].map((key) => this.evaluate(key, scope))
    if (keys.length === 0 || !keys.every((key) => key instanceof IntegerValue))
      return super.evaluate(node, scope)
    const values = [...node.value.values()].map((value) => this.evaluate(value, scope))
    return new NumberedDict(new Map(keys.map((key, index) => [toText(key), values[index]!])))
  }
}

/** Puts each expression that writes text into a separate node. Changes the program. */
export function markOutputs(node: Node): void {
  for (const [name, child] of Object.entries(node)) {
    const isBlock = bodies.has(name) && Array.isArray(child)
    if (isBlock) {
      for (const [index, statement] of (child as Node[]).entries()) {
        if (statements.has(statement.type)) markOutputs(statement)
        else child[index] = { type: 'Output', expression: statement } satisfies Output
      }
    }
  }
}

const bodies = new Set(['body', 'alternate', 'defaultBlock'])
const statements = new Set(
  'If For Set Macro CallStatement FilterStatement Break Continue Comment StringLiteral'.split(' '),
)

/** Adds two values; at least one is a text. */
function join(left: Value, right: Value): Value {
  if (!isText(left) || !isText(right)) {
    throw new Error(`can't add a ${left.type} and a ${right.type}`)
  }
  if (left instanceof SafeText || right instanceof SafeText) return new SafeText(escape(left) + escape(right))
  return new TextValue(left.value + right.value)
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  "'": '&#39;',
  '"': '&#34;',
}

function escape(text: Value<string>): string {
  if (text instanceof SafeText) return text.value
  return text.value.replace(/[&<>'"]/g, (character) => entities[character]!)
}

function toItems(value: Value): Value[] {
  if (isUndefined(value)) return []
  if (isList(value)) return value.value
  if (isDict(value)) return keysOf(value)
  if (isText(value)) return Array.from(value.value, (character) => new TextValue(character))
  throw new Error(`a ${value.type} is not iterable`)
}

/** The library unpacks lists only. */
function toPlainList(value: Value): Value {
  return isList(value) && value.type === 'TupleValue' ? new ListValue(value.value) : value
}

interface Arguments {
  at(index: number, name: string): Value | undefined
}

/** Filters that treat an undefined value as an empty text */
const textFilters = new Set('trim upper lower title capitalize replace indent'.split(' '))
const lazyFilters = new Set('map select reject selectattr rejectattr'.split(' '))

const tests: Readonly<Record<string, (value: Value) => boolean>> = {
  iterable: (value) => isText(value) || isList(value) || isDict(value) || isUndefined(value),
  number: (value) => isNumber(value) || isBoolean(value),
}

/** Filters in Python's way. Null where the library's filter does it. */
const filters: Readonly<Record<string, (value: Value, args: Arguments) => Value | null>> = {
  safe: (value) => new SafeText(toText(value)),
  string: (value) => (isText(value) ? value : new TextValue(toText(value))),
  list: (value) => new ListValue(toItems(value)),
  length: countItems,
  count: countItems,
  first: (value) => toItems(value)[0] ?? new UndefinedValue(undefined),
  last: (value) => toItems(value).at(-1) ?? new UndefinedValue(undefined),
  min: (value) => pick(value, (candidate, best) => candidate < best),
  max: (value) => pick(value, (candidate, best) => candidate > best),
  join: (value, args) =>
    args.at(1, 'attribute') === undefined
      ? new TextValue(
          toItems(value)
            .map(toText)
            .join(toText(args.at(0, 'd') ?? new TextValue(''))),
        )
      : null,
  items: (value) =>
    isUndefined(value) ? new ListValue([]) : isDict(value) ? new ListValue(itemsOf(value)) : null,
  dictsort: (value) =>
    isNumbered(value) && isDict(value)
      ? new ListValue(
          itemsOf(value).toSorted((a, b) => Number(toText(toItems(a)[0]!)) - Number(toText(toItems(b)[0]!))),
        )
      : null,
  trim: (value, args) => strip(toText(value), args.at(0, 'chars'), 'both'),
  capitalize: (value) => capitalize(toText(value)),
  selectattr: (value) => (isList(value) ? null : new LazyList([])),
  rejectattr: (value) => (isList(value) ? null : new LazyList([])),
  tojson(value, args) {
    const indent = args.at(0, 'indent')
    const separators = args.at(1, 'separators')
    const spaces = indent?.value
    return new TextValue(
      toJson(value, {
        indent: typeof spaces === 'number' ? ' '.repeat(spaces) : typeof spaces === 'string' ? spaces : null,
        separators:
          separators !== undefined && isList(separators)
            ? [toText(separators.value[0]!), toText(separators.value[1]!)]
            : null,
        ensureAscii: args.at(3, 'ensure_ascii')?.value === true,
        sortKeys: args.at(2, 'sort_keys')?.value === true,
      }),
    )
  },
}

/** Methods of dictionaries in Python's way. */
const dictMethods: Readonly<Record<string, (dict: Value<Map<string, Value>>, args: Value[]) => Value>> = {
  items: (dict) => new ListValue(itemsOf(dict)),
  keys: (dict) => new ListValue(keysOf(dict)),
  values: (dict) => new ListValue([...dict.value.values()]),
  get: (dict, [key, fallback]) => dict.value.get(toText(key!)) ?? fallback ?? new NoneValue(null),
}

/** Methods of texts in Python's way. */
const methods: Readonly<Record<string, (text: string, args: Value[]) => Value>> = {
  strip: (text, [characters]) => strip(text, characters, 'both'),
  lstrip: (text, [characters]) => strip(text, characters, 'start'),
  rstrip: (text, [characters]) => strip(text, characters, 'end'),
  capitalize,
  format: (text, args) => {
    let next = 0
    return new TextValue(
      text.replace(/\{\{|\}\}|\{(\d*)\}|[{}]/g, (found, index: string | undefined) => {
        if (found === '{{' || found === '}}') return found[0]!
        const value = args[index === undefined || index === '' ? next++ : Number(index)]
        if (index === undefined || value === undefined) throw new Error(`format can't read ${found}`)
        return toText(value)
      }),
    )
  },
}

function countItems(value: Value): Value {
  if (value instanceof LazyList) throw new Error('a generator has no length')
  return new IntegerValue(toItems(value).length)
}

function pick(value: Value, isBetter: (candidate: number, best: number) => boolean): Value {
  const items = toItems(value)
  if (!items.every(isNumber)) throw new Error('min and max compare only numbers')
  if (items.length === 0) return new UndefinedValue(undefined)
  return items.reduce((best, item) => (isBetter(item.value, best.value) ? item : best))
}

/** Python's white space differs from JavaScript's, which also counts U+FEFF. */
const pythonSpace = '\\t-\\r\\x1c- \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000'

function strip(text: string, characters: Value | undefined, side: 'start' | 'end' | 'both'): Value {
  const given = characters?.value
  const set =
    typeof given === 'string' ? given.replace(/[\\\]^-]/g, (special) => `\\${special}`) : pythonSpace
  let rest = text
  if (set === '') return new TextValue(text)
  if (side !== 'end') rest = rest.replace(new RegExp(`^[${set}]+`, 'u'), '')
  if (side !== 'start') rest = rest.replace(new RegExp(`[${set}]+$`, 'u'), '')
  return new TextValue(rest)
}

function capitalize(text: string): Value {
  return new TextValue(text.slice(0, 1).toUpperCase() + text.slice(1).toLowerCase())
}
