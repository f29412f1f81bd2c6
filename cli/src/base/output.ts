import picocolors from 'picocolors'
import stringWidth from 'string-width'
import { cleanLine } from './text.ts'

/** Whether a stream shows colors: a terminal without NO_COLOR. */
function createColors(stream: NodeJS.WriteStream, env: NodeJS.ProcessEnv) {
  const dumb = env['NO_COLOR'] || env['TERM'] === 'dumb'
  return picocolors.createColors(stream.isTTY && !dumb)
}

/** Writes a command's results to stdout, and its progress to stderr. */
export class Output {
  readonly json: boolean
  readonly colors
  readonly noteColors

  constructor(json: boolean, env: NodeJS.ProcessEnv) {
    this.json = json
    this.colors = createColors(process.stdout, env)
    this.noteColors = createColors(process.stderr, env)
  }

  /** Prints one JSON document with --json, otherwise what `people` prints. */
  result(value: unknown, people: () => void): void {
    if (this.json) this.line(JSON.stringify(value, null, 2))
    else people()
  }

  /** Prints a line of a stream: a compact JSON document with --json, otherwise the text. */
  event(value: unknown, text: string): void {
    this.line(this.json ? JSON.stringify(value) : text)
  }

  line(text: string): void {
    process.stdout.write(`${text}\n`)
  }

  /** Writes progress for people. */
  note(text: string): void {
    process.stderr.write(`${text}\n`)
  }

  /** Prints rows in columns, or notes `none`. On a terminal, ids in the first column are shortened. */
  table(header: readonly string[], rows: readonly string[][], none = 'None.'): void {
    if (rows.length === 0) return this.note(none)
    const width = process.stdout.isTTY ? process.stdout.columns : undefined
    const shown = width === undefined ? rows : shortenIds(rows)
    const [first = '', ...others] = layOutTable(header, shown, width)
    this.line(this.colors.dim(first))
    for (const line of others) this.line(line)
  }

  /** Prints names and their values, without the empty ones. */
  facts(facts: readonly (readonly [name: string, value: string | null])[]): void {
    const shown = facts.filter(([, value]) => value !== null)
    const width = Math.max(...shown.map(([name]) => name.length)) + 2
    for (const [name, value] of shown) this.line(`${this.colors.dim(name.padEnd(width))}${value}`)
  }
}

const gap = '  '
const narrowestColumn = 8
/** Splits text into the characters that a person sees */
const segments = new Intl.Segmenter()

const id = /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[\da-f]{4}-[\da-f]{12}$/
const beginning = /^[\da-f]{8}-[\da-f]{4}(-|$)/
/** The digits with the millisecond of a UUIDv7 (RFC 9562), which few ids share */
const timeLength = 13

/** Shortens the UUIDs of the first column to beginnings that no other row has. */
function shortenIds(rows: readonly string[][]): string[][] {
  const ids = rows.map(([first = '']) => first)
  if (!ids.every((each) => id.test(each))) return [...rows]
  let length = timeLength
  while (new Set(ids.map((each) => each.slice(0, length))).size < new Set(ids).size) length += 1
  return rows.map(([first = '', ...others]) => [first.slice(0, length), ...others])
}

/** Lays out rows in columns. With a width, the widest columns are shortened until the lines fit. */
function layOutTable(header: readonly string[], rows: readonly string[][], width?: number): string[] {
  const cells = [[...header], ...rows.map((row) => row.map(cleanLine))]
  const widths = header.map((_, column) => Math.max(...cells.map((row) => stringWidth(row[column] ?? ''))))
  if (width !== undefined) shrink(widths, width, rows.every(([first = '']) => beginning.test(first)) ? 1 : 0)
  return cells.map((row) =>
    widths
      .map((size, column) => fit(row[column] ?? '', size))
      .join(gap)
      .trimEnd(),
  )
}

/** Shortens the widest columns from the one with this index on, until all fit. */
function shrink(widths: number[], width: number, from: number): void {
  const total = () => widths.reduce((sum, size) => sum + size, gap.length * (widths.length - 1))
  for (let excess = total() - width; excess > 0; excess = total() - width) {
    const widest = Math.max(...widths.slice(from))
    if (widest <= narrowestColumn) return
    widths[widths.indexOf(widest, from)] = Math.max(narrowestColumn, widest - excess)
  }
}

function fit(text: string, size: number): string {
  let shown = text
  if (stringWidth(shown) > size) {
    const characters = Array.from(segments.segment(shown), ({ segment }) => segment)
    while (stringWidth(characters.join('')) > size - 1) characters.pop()
    shown = `${characters.join('')}…`
  }
  return shown + ' '.repeat(size - stringWidth(shown))
}
