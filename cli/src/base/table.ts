import stringWidth from 'string-width'
import { cleanLine } from './text.ts'

const gap = '  '
const narrowestColumn = 8
/** What a person sees as characters */
const segments = new Intl.Segmenter()

/** Lays out rows in columns. With a width, the widest columns are shortened until the lines fit. */
export function layOutTable(header: readonly string[], rows: readonly string[][], width?: number): string[] {
  const cells = [[...header], ...rows.map((row) => row.map(cleanLine))]
  const widths = header.map((_, column) => Math.max(...cells.map((row) => stringWidth(row[column] ?? ''))))
  if (width !== undefined) shrink(widths, width)
  return cells.map((row) =>
    widths
      .map((size, column) => fit(row[column] ?? '', size))
      .join(gap)
      .trimEnd(),
  )
}

function shrink(widths: number[], width: number): void {
  const total = () => widths.reduce((sum, size) => sum + size, gap.length * (widths.length - 1))
  for (let excess = total() - width; excess > 0; excess = total() - width) {
    const widest = Math.max(...widths)
    if (widest <= narrowestColumn) return
    widths[widths.indexOf(widest)] = Math.max(narrowestColumn, widest - excess)
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
