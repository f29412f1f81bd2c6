import { cleanLine } from './text.ts'

const clearLine = '\r\u001B[K'

/** Progress on stderr: one line that changes on a terminal, otherwise a line for each change of the text. */
export class Progress {
  #last = ''

  /** Shows a text, and a share from 0 to 1 that only a terminal shows. */
  show(text: string, share: number | null = null): void {
    const clean = cleanLine(text)
    const { stderr } = process
    if (!stderr.isTTY) {
      if (clean !== this.#last) stderr.write(`${clean}\n`)
    } else {
      const line = share === null ? clean : `${Math.floor(share * 100)}% ${clean}`
      stderr.write(`${clearLine}${line.slice(0, Math.max(stderr.columns - 1, 10))}`)
    }
    this.#last = clean
  }

  /** Removes the line from a terminal. */
  close(): void {
    if (process.stderr.isTTY && this.#last !== '') process.stderr.write(clearLine)
  }
}
