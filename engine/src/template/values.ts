import { Environment as Scope, Interpreter as Base } from '@huggingface/jinja'

/** A value of a running template, as `@huggingface/jinja` represents it. */
export interface Value<Data = unknown> {
  readonly type: string
  value: Data
  toString(): string
}

/** A node of a parsed template. */
export interface Node {
  readonly type: string
}

/** The variables of a block of a template. */
export interface Environment {
  readonly variables: Map<string, Value>
  setVariable(name: string, value: Value): Value
}

/** A function that a template can call. */
export type Call = (args: Value[], scope: Environment) => Value

type Class<Data> = new (value: Data) => Value<Data>

/** The library's types name no file extensions, so TypeScript can't read them. These are the parts in use. */
export const Environment = Scope as unknown as new (parent?: Environment) => Environment & {
  set(name: string, value: unknown): Value
}
export const Interpreter = Base as unknown as new (scope: Environment) => {
  evaluate(node: Node | undefined, scope: Environment): Value
}

/** The library exports no classes of values, so each is taken from a value. */
const classOf = <Data>(example: unknown) =>
  new Environment().set('example', example).constructor as Class<Data>

export const TextValue = classOf<string>('')
export const IntegerValue = classOf<number>(1)
export const FloatValue = classOf<number>(0.5)
export const BooleanValue = classOf<boolean>(true)
export const NoneValue = classOf<null>(null)
export const UndefinedValue = classOf<undefined>(undefined)
export const ListValue = classOf<Value[]>([])
export const DictValue = classOf<Map<string, Value>>({})
export const FunctionValue = classOf<Call>(() => '')

/** Text that the filter `safe` has marked. Additions to it are escaped for HTML. */
export class SafeText extends TextValue {}

/** A list that a filter made and that Python would compute only once: it has no length and no JSON. */
export class LazyList extends ListValue {}

/** A whole number that keeps its digits, because it may have more than a double can hold. */
export class ExactInteger extends IntegerValue {
  readonly digits: string

  constructor(digits: string) {
    super(Number(digits))
    this.digits = digits
  }

  override toString(): string {
    return this.digits
  }
}

/** A number with a point or an exponent that keeps the form in which a caller wrote it. */
export class ExactFloat extends FloatValue {
  readonly digits: string

  constructor(digits: string) {
    super(Number(digits))
    this.digits = digits
  }

  override toString(): string {
    return this.digits
  }
}

/** A dictionary of a template with whole numbers as keys. */
export class NumberedDict extends DictValue {}

export function isText(value: Value): value is Value<string> {
  return value instanceof TextValue
}

export function isNumber(value: Value): value is Value<number> {
  return value.type === 'IntegerValue' || value.type === 'FloatValue'
}

export function isList(value: Value): value is Value<Value[]> {
  return value instanceof ListValue
}

export function isDict(value: Value): value is Value<Map<string, Value>> {
  return value instanceof DictValue
}

export function isBoolean(value: Value): boolean {
  return value.type === 'BooleanValue'
}

export function isNone(value: Value): boolean {
  return value.type === 'NullValue'
}

export function isUndefined(value: Value): boolean {
  return value.type === 'UndefinedValue'
}

/** A dictionary whose keys are whole numbers. */
export function isNumbered(value: Value): boolean {
  return value instanceof NumberedDict
}

/** The keys of a dictionary, as Python's `dict.keys()`. */
export function keysOf(dict: Value<Map<string, Value>>): Value[] {
  const make = (key: string) =>
    dict instanceof NumberedDict ? new IntegerValue(Number(key)) : new TextValue(key)
  return [...dict.value.keys()].map(make)
}

/** The pairs of a dictionary, as Python's `dict.items()`. */
export function itemsOf(dict: Value<Map<string, Value>>): Value[] {
  const values = [...dict.value.values()]
  return keysOf(dict).map((key, index) => new ListValue([key, values[index]!]))
}
