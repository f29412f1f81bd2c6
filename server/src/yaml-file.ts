import { readFileSync } from 'node:fs'
import { isNode, LineCounter, parseDocument } from 'yaml'
import type { Document } from 'yaml'
import type { z } from 'zod'

/** Where something is in a document, e.g. `['models', 0, 'sizes']`. */
export type DocumentPath = (string | number)[]

/** Something wrong in the file: `path` leads to it from the document's root. */
export interface Mistake {
  path: DocumentPath
  message: string
}

/**
 * Reads a YAML file that an operator writes; `name` says which in messages. Throws one Error that lists every mistake that
 * `check` finds with its line and its path in the document.
 */
export function readYamlFile<Value>(
  path: string,
  name: string,
  check: (content: unknown) => { value: Value; mistakes: Mistake[] },
): Value {
  let source: string
  try {
    source = readFileSync(path, 'utf8')
  } catch (error) {
    throw new Error(`The ${name} file ${path} cannot be read: ${String(error)}`, { cause: error })
  }
  const lines = new LineCounter()
  const document = parseDocument(source, { lineCounter: lines, prettyErrors: false })
  const title = `The ${name} file ${path}`
  if (document.errors.length > 0) {
    throw toError(
      title,
      document.errors.map((fault) => `line ${lines.linePos(fault.pos[0]).line}: ${fault.message}`),
    )
  }
  const { value, mistakes } = check(toPlainValue(title, document))
  if (mistakes.length > 0) {
    throw toError(
      title,
      mistakes.map((mistake) => `${locate(document, lines, mistake.path)}: ${mistake.message}`),
    )
  }
  return value
}

/** What a schema finds, below `root`. An unknown key is told at the key itself, each on its own. */
export function toMistakes(error: z.ZodError, root: DocumentPath): Mistake[] {
  return error.issues.flatMap((issue) => {
    const path = [...root, ...issue.path.map((key) => (typeof key === 'symbol' ? String(key) : key))]
    if (issue.code !== 'unrecognized_keys') return [{ path, message: issue.message }]
    return issue.keys.map((key) => ({ path: [...path, key], message: 'is not a known field here' }))
  })
}

function toPlainValue(title: string, document: Document): unknown {
  try {
    return document.toJS()
  } catch (error) {
    // Unresolved aliases, and more of them than a honest file has.
    throw toError(title, [error instanceof Error ? error.message : String(error)])
  }
}

function toError(title: string, mistakes: string[]): Error {
  const counted = mistakes.length === 1 ? 'a mistake' : `${mistakes.length} mistakes`
  return new Error(`${title} has ${counted}:\n${mistakes.map((line) => `  ${line}`).join('\n')}`)
}

/** `line 7, models[0].sizes[1].billions`: the line of the nearest thing that is there. */
function locate(document: Document, lines: LineCounter, path: DocumentPath): string {
  const name = path.reduce<string>(
    (name, key) => (typeof key === 'number' ? `${name}[${key}]` : name === '' ? key : `${name}.${key}`),
    '',
  )
  for (let length = path.length; length >= 0; length--) {
    const node = document.getIn(path.slice(0, length), true)
    if (isNode(node) && node.range) {
      const { line } = lines.linePos(node.range[0])
      return name === '' ? `line ${line}` : `line ${line}, ${name}`
    }
  }
  return name === '' ? 'line 1' : `line 1, ${name}`
}
