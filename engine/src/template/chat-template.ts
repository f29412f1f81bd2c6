import { parse, tokenize } from '@huggingface/jinja'
import { markOutputs, PythonInterpreter } from './python.ts'
import { toText } from './python-text.ts'
import {
  BooleanValue,
  Environment,
  FunctionValue,
  IntegerValue,
  isNumber,
  ListValue,
  NoneValue,
  TextValue,
} from './values.ts'
import type { Node, Value } from './values.ts'
import { toValue } from './to-value.ts'

/** A template's own complaint, by `raise_exception`. */
export class TemplateComplaint extends Error {}

/** Renders conversations with a model's own template. */
export class ChatTemplate {
  readonly #program: Node

  /** Throws an Error if the template can't be read. */
  constructor(source: string) {
    // `generation` blocks mark what a model answered and don't change the text.
    const plain = source.replace(
      /\{%(-?)\s*(?:end)?generation\s*(-?)%\}/g,
      '{%$1 if true $2%}{%$1 endif $2%}',
    )
    this.#program = parse(tokenize(plain, { lstrip_blocks: true, trim_blocks: true }))
    markOutputs(this.#program)
  }

  /** Renders a prompt from the template's variables. Throws an Error if the template can't. */
  render(variables: Readonly<Record<string, unknown>>, now = new Date()): string {
    const scope = new Environment()
    const globals: Record<string, Value> = {
      true: new BooleanValue(true),
      True: new BooleanValue(true),
      false: new BooleanValue(false),
      False: new BooleanValue(false),
      none: new NoneValue(null),
      None: new NoneValue(null),
      raise_exception: new FunctionValue(([message]) => {
        throw new TemplateComplaint(message === undefined ? '' : toText(message))
      }),
      range: new FunctionValue((args) => new ListValue(range(args))),
      strftime_now: new FunctionValue(([format]) => new TextValue(formatTime(toText(format!), now))),
    }
    for (const [name, value] of Object.entries(globals)) scope.setVariable(name, value)
    for (const [name, value] of Object.entries(variables)) scope.setVariable(name, toValue(value))
    return toText(new PythonInterpreter(scope).evaluate(this.#program, scope))
  }
}

function range(args: readonly Value[]): Value[] {
  const numbers = args.map((value) => {
    if (!isNumber(value)) throw new Error('range needs numbers')
    return value.value
  })
  const [start, stop, step] =
    numbers.length === 1 ? [0, numbers[0]!, 1] : [numbers[0]!, numbers[1]!, numbers[2] ?? 1]
  const count = Math.max(0, Math.ceil((stop - start) / step))
  if (!(count <= 100_000)) throw new Error('the range is too long')
  return Array.from({ length: count }, (_, index) => new IntegerValue(start + index * step))
}

const english = (now: Date, options: Intl.DateTimeFormatOptions): string =>
  new Intl.DateTimeFormat('en-US', options).format(now)
const twoDigits = (number: number): string => String(number).padStart(2, '0')

const timeParts: Readonly<Record<string, (now: Date) => string>> = {
  a: (now) => english(now, { weekday: 'short' }),
  A: (now) => english(now, { weekday: 'long' }),
  b: (now) => english(now, { month: 'short' }),
  B: (now) => english(now, { month: 'long' }),
  d: (now) => twoDigits(now.getDate()),
  H: (now) => twoDigits(now.getHours()),
  m: (now) => twoDigits(now.getMonth() + 1),
  M: (now) => twoDigits(now.getMinutes()),
  S: (now) => twoDigits(now.getSeconds()),
  y: (now) => twoDigits(now.getFullYear() % 100),
  Y: (now) => String(now.getFullYear()),
  '%': () => '%',
}

/** Python's `datetime.strftime`, in English. */
function formatTime(format: string, now: Date): string {
  return format.replace(/%(-?)(.)/g, (found, minus: string, code: string) => {
    const part = timeParts[code]
    if (part === undefined) throw new Error(`strftime_now can't write ${found}`)
    return minus === '' ? part(now) : part(now).replace(/^0/, '')
  })
}
