import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { load } from 'js-yaml'
import type * as Yaml from 'yaml'
import { z } from 'zod'

/** Text that PostgreSQL can store: it can't store NUL. */
export const yamlText = z
  .string('must be text')
  .trim()
  .min(1, 'must not be empty')
  .regex(/^[^\0]*$/, 'must not contain NUL')

/** A path in a document, such as `['models', 0, 'sizes']`. */
export type DocumentPath = (string | number)[]

/** A mistake in a file. `path` starts at the root of the document. */
export interface Mistake {
  path: DocumentPath
  message: string
}

/** Reads and validates a YAML file; throws one Error with every mistake, its line and its path. */
export function readYamlFile<Value>(
  path: string,
  name: string,
  validate: (content: unknown) => { value: Value; mistakes: Mistake[] },
): Value {
  let source: string
  try {
    source = readFileSync(path, 'utf8')
  } catch (error) {
    throw new Error(`The ${name} file ${path} could not be read: ${String(error)}`, { cause: error })
  }
  const loaded = loadQuickly(source)
  const checked = loaded === undefined ? null : validate(loaded)
  if (checked !== null && checked.mistakes.length === 0) return checked.value
  // Loaded on demand: it is large, and only files with mistakes or anchors need it.
  const yaml: typeof Yaml = createRequire(import.meta.url)('yaml')
  const lines = new yaml.LineCounter()
  const document = yaml.parseDocument(source, { lineCounter: lines, prettyErrors: false })
  const title = `The ${name} file ${path}`
  if (document.errors.length > 0) {
    throw toError(
      title,
      document.errors.map((error) => `line ${lines.linePos(error.pos[0]).line}: ${error.message}`),
    )
  }
  const { value, mistakes } = validate(toPlainValue(title, document))
  if (mistakes.length > 0) {
    throw toError(
      title,
      mistakes.map((mistake) => `${locate(yaml, document, lines, mistake.path)}: ${mistake.message}`),
    )
  }
  return value
}

/** An anchor, or text that looks like one */
const anchor = /(?:^|[\s[{,:-])&/

/** Parses in a tenth of the time, without lines. Undefined for mistakes, or anchors, which it can't limit. */
export function loadQuickly(source: string): unknown {
  if (anchor.test(source)) return undefined
  try {
    return load(source)
  } catch {
    return undefined
  }
}

/** Converts schema errors to mistakes below `root`, with one mistake for each unknown key. */
export function toMistakes(error: z.ZodError, root: DocumentPath): Mistake[] {
  return error.issues.flatMap((issue) => {
    const path = [...root, ...issue.path.map((key) => (typeof key === 'symbol' ? String(key) : key))]
    if (issue.code !== 'unrecognized_keys') return [{ path, message: issue.message }]
    return issue.keys.map((key) => ({ path: [...path, key], message: 'is not a known field' }))
  })
}

function toPlainValue(title: string, document: Yaml.Document): unknown {
  try {
    return document.toJS()
  } catch (error) {
    // Unresolved aliases, or so many that the file would expand excessively.
    throw toError(title, [error instanceof Error ? error.message : String(error)])
  }
}

function toError(title: string, mistakes: string[]): Error {
  const counted = mistakes.length === 1 ? 'a mistake' : `${mistakes.length} mistakes`
  return new Error(`${title} has ${counted}:\n${mistakes.map((line) => `  ${line}`).join('\n')}`)
}

/** Formats a location, such as `line 7, models[0].sizes[1].billions`, by the nearest existing node. */
function locate(
  { isNode }: Pick<typeof Yaml, 'isNode'>,
  document: Yaml.Document,
  lines: Yaml.LineCounter,
  path: DocumentPath,
): string {
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
